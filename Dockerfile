# Builds Fathom and serves a model:
#   docker build -t fathom .
#   docker run -p 8080:8080 -v /path/to/models:/models:ro -e FATHOM_API_KEYS=secret fathom -m /models/model.gguf
# Every flag of `fathom serve` can also be given as -e FATHOM_<FLAG>=value.
FROM debian:12 AS build
WORKDIR /fathom
COPY . .
RUN apt-get update -q && scripts/setup -y

FROM debian:12-slim
RUN apt-get update -q \
 && apt-get install -y --no-install-recommends libfmt9 libspdlog1.10 libsimdjson14 libpcre2-8-0 \
      libutf8proc2 libssl3 libprometheus-cpp-core1.0 curl \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --no-create-home fathom
COPY --from=build /fathom/build/release/fathom /usr/local/bin/fathom
USER fathom
EXPOSE 8080
# Alive is /health; a load balancer asks /ready.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD curl -fsS http://127.0.0.1:8080/health
STOPSIGNAL SIGTERM
ENTRYPOINT ["fathom", "serve", "--host", "0.0.0.0"]
