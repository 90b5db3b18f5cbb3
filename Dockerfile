# One image; the command says what it does:
#   docker run -p 8080:8080 -e HOLDFAST_STORE=valkey://HOST -e HOLDFAST_ADMIN_KEY=... holdfast
#   docker run -e HOLDFAST_STORE=http://server:8080 -e HOLDFAST_KEY=... holdfast worker shop:app
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE requirements.lock ./
COPY src src
RUN python -m venv /opt/holdfast \
 && /opt/holdfast/bin/pip install --no-cache-dir ".[fast,otel]"

FROM python:3.12-slim
RUN useradd --system --create-home --uid 10001 holdfast && mkdir /data && chown holdfast /data
COPY --from=build /opt/holdfast /opt/holdfast
USER holdfast
WORKDIR /data
ENV PATH=/opt/holdfast/bin:$PATH PYTHONUNBUFFERED=1 HOLDFAST_LISTEN=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["holdfast"]
CMD ["server"]
