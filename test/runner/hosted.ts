// A server without any worker process, and a mock of a hosted provider in its catalog: one for each dialect.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { eventually } from "../support/eventually.ts";
import { type Body, send, succeed } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { startWranglerDev } from "../support/wrangler-dev.ts";
import { MockRuntime } from "../worker/runtimes/mock-runtime.ts";

export const KEY = "sk-hosted-0123456789abcdef";

const fileOf = (provider: string, url: string, dialect: string): string =>
  [
    `provider: ${provider}`,
    "local: true",
    `list_url: ${url}/v1/models`,
    "method: GET",
    `auth: { header: bearer, ref: "provider:${provider}" }`,
    `api: { base_url: "${url}/v1", dialect: ${dialect} }`,
    'response_path: "data[]"',
    "fields: { id: id }",
  ].join("\n");

export interface Hosted {
  readonly server: Omit<SelfHosted, "stop">;
  /** OpenAI's dialect, provider `acme`. */
  readonly acme: MockRuntime;
  /** Anthropic's dialect, provider `claudia`. */
  readonly claudia: MockRuntime;
  readonly api: (method: string, route: string, body?: unknown) => Promise<Body>;
  readonly status: (method: string, route: string, body?: unknown) => Promise<number>;
  /** Enables the providers, and waits until their workers can be given jobs. */
  readonly enable: (edge?: object, more?: object, besideEdge?: object) => Promise<void>;
  readonly worker: (instance: string) => Promise<Body>;
  readonly stop: () => Promise<void>;
}

/** Where the service can run, and what reads its catalog there. */
export const HOMES = {
  "npm start": {
    start: (dataDir: string, env: Record<string, string>) => startSelfHosted(dataDir, { env }),
    catalog: (files: Record<string, string>) => ({ SERVICE_CATALOG_DIR: folderOf(files) }),
  },
  "wrangler dev": {
    start: startWranglerDev,
    catalog: (files: Record<string, string>) => ({ SERVICE_CATALOG_FILES: JSON.stringify(files) }),
  },
};

const folderOf = (files: Record<string, string>): string => {
  const folder = mkdtempSync(path.join(tmpdir(), "catalog-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
};

export const startHosted = async (
  dataDir: string,
  more: Record<string, string> = {},
  home: keyof typeof HOMES = "npm start",
): Promise<Hosted> => {
  const acme = await new MockRuntime({ models: ["m1", "m2"] }).start();
  const claudia = await new MockRuntime({ models: ["c1"] }).start();
  const { start, catalog } = HOMES[home];
  const files: Record<string, string> = catalog({
    "acme.yaml": fileOf("acme", acme.url, "openai"),
    "claudia.yaml": fileOf("claudia", claudia.url, "anthropic"),
  });
  const server = await start(dataDir, { ...files, PROVIDER_CLAUDIA_KEY: KEY, ...more });
  const via = { url: server.url, key: server.adminKey };
  const api: Hosted["api"] = async (method, route, body) => (await send(via, method, route, body)).body;
  const worker: Hosted["worker"] = (instance) => api("GET", `/api/workers/${instance}`);
  return {
    server,
    acme,
    claudia,
    api,
    worker,
    status: async (method, route, body) => (await send(via, method, route, body)).status,
    enable: async (edge = {}, more = {}, besideEdge = {}) => {
      const providers = {
        acme: { edge: { enabled: true, models: ["m1", "m2"], ...edge }, ...besideEdge },
        claudia: { edge: { enabled: true, models: ["c1"], ...edge }, ...besideEdge },
      };
      await succeed(via, "PUT", "/config", { providers, ...more });
      await eventually(async () => {
        for (const provider of ["acme", "claudia"]) {
          const { unavailable } = await worker(`edge-${provider}-0`);
          if (unavailable !== null) throw new Error(`${provider}: ${unavailable}\n${server.output()}`);
        }
      });
    },
    stop: async () => {
      await server.kill();
      await acme.stop();
      await claudia.stop();
      if (files.SERVICE_CATALOG_DIR !== undefined) rmSync(files.SERVICE_CATALOG_DIR, { recursive: true, force: true });
    },
  };
};
