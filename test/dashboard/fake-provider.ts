// A provider whose model list a test sets: served on this machine, described by a file for SERVICE_CATALOG_DIR.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

interface ListedModel {
  readonly id: string;
  /** Dollars per million tokens. */
  readonly in?: number;
  readonly out?: number;
}

export const fakeProvider = (name: string) => {
  const folder = mkdtempSync(path.join(tmpdir(), "signalbox-catalog-"));
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: provider.models }));
  });
  const provider = {
    models: [] as ListedModel[],
    /** Returns the folder of its file. */
    start: async (): Promise<string> => {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const file = [
        `provider: ${name}`,
        `list_url: http://127.0.0.1:${port}/models`,
        "method: GET",
        "local: true",
        "response_path: data[]",
        "fields: { id: id }",
        "pricing: { unit: per_1m, input: in, output: out }",
      ];
      writeFileSync(path.join(folder, `${name}.yaml`), `${file.join("\n")}\n`);
      return folder;
    },
    stop: async (): Promise<void> => {
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return provider;
};
