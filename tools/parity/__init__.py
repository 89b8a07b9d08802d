"""Parts of tools/make_parity_models.py: the table of models, their weights, and the forms they are stored in."""
