// Batches of embeddings: their files, their beginning and what becomes of them.

import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import { type Body, type Client, ORIGIN } from "./client.ts";
import { edgeFetch } from "./edge.ts";

export const line = (name: string, model = "m1"): string =>
  JSON.stringify({ custom_id: name, method: "POST", url: "/v1/embeddings", body: { model, input: name } });

export const numbered = (count: number, model = "m1"): string[] =>
  Array.from({ length: count }, (_, at) => line(`${model}-${at}`, model));

export const upload = async (client: Client, lines: readonly string[]): Promise<string> => {
  const response = await edgeFetch(`${ORIGIN}/api/files?name=in.jsonl&purpose=batch`, {
    method: "POST",
    headers: { authorization: `Bearer ${client.key}`, "content-type": "application/jsonl" },
    body: lines.join("\n"),
  });
  return ((await response.json()) as Body).id;
};

export const begin = async (client: Client, lines: readonly string[], window = "24h"): Promise<Body> => {
  const file = await upload(client, lines);
  return client.ok("POST", "/v1/batches", {
    input_file_id: file,
    endpoint: "/v1/embeddings",
    completion_window: window,
  });
};

export const own = (client: Client, id: string): Promise<Body> => client.ok("GET", `/api/batches/${id}`);

export const whenIs = (client: Client, id: string, status: string): Promise<Body> =>
  eventually(async () => {
    const batch = await own(client, id);
    expect(batch.status, JSON.stringify(batch)).toBe(status);
    return batch;
  });

export const linesOf = async (client: Client, file: string | null): Promise<Body[]> => {
  if (file === null) return [];
  const response = await edgeFetch(`${ORIGIN}/api/files/${file}/content`, {
    headers: { authorization: `Bearer ${client.key}` },
  });
  return (await response.text())
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text));
};
