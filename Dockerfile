# Two images: the coordinator, and a worker for machines that have only Docker.
#   docker build --target coordinator -t signalbox .
#   docker build --target worker -t signalbox-worker .
# The base is Debian: workerd needs glibc. It is published for amd64 and arm64, as workerd is.

FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN node --disable-warning=ExperimentalWarning scripts/build.ts

FROM node:22-bookworm-slim AS modules
WORKDIR /app
COPY package.json package-lock.json ./
# The image has its own Node: the one of the lock file is for machines with an older one.
RUN npm ci --omit=dev --no-audit --no-fund && rm -rf node_modules/node-*-*64 node_modules/.bin/node

FROM node:22-bookworm-slim AS coordinator
# Without these certificates workerd trusts no provider.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/* \
 && install -d -m 0700 -o 65532 -g 65532 /data
WORKDIR /app
COPY --from=modules /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json package-lock.json wrangler.toml ./
COPY self-host/migration-worker.js self-host/
# For what is started by `exec`, too, such as the backup: Node warns of the SQLite that it has.
ENV NODE_OPTIONS=--disable-warning=ExperimentalWarning
ENV NODE_ENV=production HOME=/tmp SERVICE_HOST=0.0.0.0 SERVICE_DATA_DIR=/data PORT=8787
USER 65532:65532
VOLUME /data
EXPOSE 8787
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/server/start.js"]
CMD ["--no-worker"]

# Only the package that the coordinator serves.
FROM node:22-bookworm-slim AS worker
WORKDIR /app
COPY --from=build /app/dist/package .
ENV NODE_ENV=production HOME=/tmp
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "cli/main.js", "worker"]
