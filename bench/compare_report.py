"""What bench/compare measured, as one object, a table and a picture.

Called by bench/compare only. Every row that any program has stays, with the message of those that
failed in place of their figure.
"""

import argparse
import statistics
from pathlib import Path
from xml.sax.saxutils import escape

COLOURS = ("#2b6cb0", "#dd6b20", "#38a169")
BAR, GAP, LEFT, WIDTH = 14, 10, 330, 900


def row_kind(row: str) -> str:
    if "sequences" in row:
        return "batch"
    return "plain" if row in ("prefill", "decode") else "depth"


def make(args: argparse.Namespace, programs: list[str], samples: dict, errors: dict) -> dict:
    """Medians, all samples, and ratios of fathom's median to each other's; above 1 is faster."""
    rows = []
    for (model, name), by_program in samples.items():
        row: dict = {
            "model": Path(model).name,
            "path": model,
            "row": name,
            "tok_s": {},
            "ratio": {},
        }
        for program in programs:
            if by_program[program]:
                values = by_program[program]
                row["tok_s"][program] = {"median": statistics.median(values), "samples": values}
            else:
                message = errors.get((model, row_kind(name)), {}).get(program, "no figure")
                row["tok_s"][program] = {"error": message}
        ours = row["tok_s"]["fathom"].get("median")
        for program in programs[1:]:
            theirs = row["tok_s"][program].get("median")
            if ours and theirs:
                row["ratio"][program] = ours / theirs
        rows.append(row)
    for (model, kind), by_program in errors.items():
        if not any(row["path"] == model and row_kind(row["row"]) == kind for row in rows):
            failures = {program: {"error": text} for program, text in by_program.items()}
            name = {"model": Path(model).name, "path": model, "row": kind}
            rows.append(name | {"tok_s": failures, "ratio": {}})
    add_attention(rows, programs)
    return {"programs": programs, "threads": args.threads, "rounds": args.rounds, "rows": rows}


def add_attention(rows: list[dict], programs: list[str]) -> None:
    """The attention part of decode at a depth: what a token takes there beyond one at the start."""
    plain = {row["path"]: row for row in rows if row["row"] == "decode"}
    for row in [row for row in rows if row["row"].startswith("decode at")]:
        start = plain.get(row["path"])
        if start is None:
            continue
        part: dict = {"model": row["model"], "path": row["path"], "tok_s": {}, "ratio": {}}
        part["row"] = row["row"].replace("decode", "attention part")
        for program in programs:
            deep, shallow = row["tok_s"][program], start["tok_s"][program]
            if "median" in deep and "median" in shallow:
                seconds = 1 / deep["median"] - 1 / shallow["median"]
                part["tok_s"][program] = (
                    {"median": 1 / seconds, "samples": []}
                    if seconds > 0
                    else {"error": "below noise"}
                )
            else:
                part["tok_s"][program] = {"error": "no figure"}
        ours = part["tok_s"]["fathom"].get("median")
        for program in programs[1:]:
            theirs = part["tok_s"][program].get("median")
            if ours and theirs:
                part["ratio"][program] = ours / theirs
        rows.append(part)


def add_shares(report: dict, costs: dict) -> None:
    """The share of the limit that binds the row: reading for decode, int8 arithmetic for prompts."""
    for row in report["rows"]:
        cost = costs.get((row["path"], row["row"]))
        ours = row["tok_s"].get("fathom", {}).get("median")
        if cost is None or ours is None:
            continue
        unit, per_token = cost
        limit = "bytes_per_s" if unit == "bytes_per_token" else "peak_ops_per_s"
        name = "reading" if unit == "bytes_per_token" else "int8 operations"
        row["limit"] = {"of": name, "share": ours * per_token / report["limits"][limit]}


def cell(figure: dict) -> str:
    if "median" not in figure:
        return "failed: " + figure.get("error", "no figure")
    values = figure["samples"]
    spread = f" ({min(values):.1f} to {max(values):.1f})" if len(values) > 1 else ""
    return f"{figure['median']:.1f}{spread}"


def table(report: dict, quiet_load: float) -> str:
    programs = report["programs"]
    limits = report["limits"]
    loads = report["load_of_others"]
    noisy = [load for load in loads if load > quiet_load]
    lines = [
        f"{report['machine']['cpu']}, {report['machine']['n_cpus']} CPUs, {report['threads']} threads,"
        f" {limits['isa']}; reading {limits['bytes_per_s'] * 1e-9:.1f} GB/s,"
        f" int8 {limits['peak_ops_per_s'] * 1e-9:.0f} GOP/s; medians of {report['rounds']} rounds in"
        " turns, tok/s",
        f"{len(noisy)} of {len(loads)} rounds began while others used more than"
        f" {100 * quiet_load:.0f} % of the machine (the most: {100 * max(loads):.0f} %)",
        "",
    ]
    head = [
        "model",
        "row",
        *programs,
        *[f"against {name}" for name in programs[1:]],
        "of the limit",
    ]
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in report["rows"]:
        cells = [row["model"], row["row"]]
        cells += [cell(row["tok_s"].get(name, {})) for name in programs]
        for name in programs[1:]:
            cells.append(f"{row['ratio'][name]:.2f} x" if name in row["ratio"] else "")
        limit = row.get("limit")
        cells.append(f"{100 * limit['share']:.0f} % of {limit['of']}" if limit else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def picture(report: dict) -> str:
    """Bars of the ratios, a line at 1."""
    others = report["programs"][1:]
    rows = report["rows"]
    highest = max([1.0, *[ratio for row in rows for ratio in row["ratio"].values()]])
    scale = (WIDTH - LEFT - 60) / highest
    height = 40 + len(rows) * (len(others) * BAR + GAP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        ' font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for i, name in enumerate(others):
        out.append(f'<rect x="{LEFT + 180 * i}" y="8" width="12" height="12" fill="{COLOURS[i]}"/>')
        out.append(f'<text x="{LEFT + 18 + 180 * i}" y="18">times {escape(name)}</text>')
    y = 34
    for row in rows:
        label = escape(f"{row['model'].removesuffix('.gguf')}: {row['row']}")
        middle = y + len(others) * BAR / 2 + 4
        out.append(f'<text x="{LEFT - 8}" y="{middle}" text-anchor="end">{label}</text>')
        for i, name in enumerate(others):
            ratio = row["ratio"].get(name)
            text = "no figure" if ratio is None else f"{ratio:.2f}"
            width = 0 if ratio is None else ratio * scale
            out.append(
                f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLOURS[i]}"/>'
            )
            out.append(f'<text x="{LEFT + width + 4:.1f}" y="{y + 10}">{text}</text>')
            y += BAR
        y += GAP
    x = LEFT + scale
    out.append(
        f'<line x1="{x}" y1="26" x2="{x}" y2="{height}" stroke="#444" stroke-dasharray="4 3"/>'
    )
    return "\n".join([*out, "</svg>"]) + "\n"
