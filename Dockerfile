# Seasoned's page and its MCP server in one image; compose.yaml runs both on Postgres. See docs/operators.md.
FROM python:3.12-slim
COPY pyproject.toml README.md LICENSE NOTICE /src/
COPY src /src/src
COPY experiments /src/experiments
RUN pip install --no-cache-dir "/src[web,mcp,postgres,otel]" && rm -r /src && useradd --create-home seasoned \
    && mkdir /data && chown seasoned /data
USER seasoned
WORKDIR /data
VOLUME /data
ENV SEASONED_STORE=/data/seasoned.db SEASONED_RUNS=/data/runs
EXPOSE 8764 8765
ENTRYPOINT ["seasoned"]
CMD ["serve", "--host", "0.0.0.0"]
