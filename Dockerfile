# One image; the command says what it does:
#   docker run -p 8080:8080 -e HOLDFAST_STORE=valkey://HOST -e HOLDFAST_ADMIN_KEY=... holdfast
#   docker run -e HOLDFAST_STORE=http://server:8080 -e HOLDFAST_KEY=... holdfast worker shop:app
FROM python:3.12-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE requirements.lock ./
COPY src src
# The versions of the lock file, but of what is installed only.
RUN grep -oE '^[A-Za-z0-9._-]+==[^\]+' requirements.lock > constraints.txt \
 && python -m venv /opt/holdfast \
 && /opt/holdfast/bin/pip install --no-cache-dir -c constraints.txt ".[otel]"

FROM python:3.12-slim
RUN useradd --system --create-home --uid 10001 holdfast && mkdir /data && chown holdfast /data
COPY --from=build /opt/holdfast /opt/holdfast
USER holdfast
WORKDIR /data
ENV PATH=/opt/holdfast/bin:$PATH PYTHONUNBUFFERED=1 HOLDFAST_LISTEN=0.0.0.0:8080
EXPOSE 8080
STOPSIGNAL SIGTERM
ENTRYPOINT ["holdfast"]
CMD ["server"]
