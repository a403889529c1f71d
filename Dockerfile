# Seasoned's page and its MCP server in one image; compose.yaml runs both on Postgres. See docs/operators.md.
FROM python:3.12-slim
COPY pyproject.toml README.md LICENSE NOTICE /src/
COPY src /src/src
COPY experiments /src/experiments
RUN pip install --no-cache-dir "/src[web,mcp,postgres,otel]" && rm -r /src && useradd --create-home --uid 10001 seasoned \
    && mkdir /data && chown seasoned /data
# A number, so that a cluster can see that it is not root.
USER 10001
WORKDIR /data
VOLUME /data
ENV SEASONED_STORE=/data/seasoned.db SEASONED_RUNS=/data/runs
EXPOSE 8764 8765
ENTRYPOINT ["seasoned"]
CMD ["serve", "--host", "0.0.0.0"]
