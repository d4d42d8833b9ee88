// The archive's folder, written and read by Node: for the app here directly, for the processes with the tenants over a
// private socket. What was put is on the disk before the answer, because its jobs are then deleted from history.

import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import path from "node:path";
import { INTERNAL_SERVER_ERROR, NO_CONTENT, NOT_FOUND } from "../../contract/words/http-status.ts";
import { log } from "../../log/log.ts";
import type { ArchiveFolder } from "../../src/home.ts";
import { syncDirectory } from "../data/kept-secret.ts";

/** A part that is asked for was put here once, so a folder without anything is a disk that is not mounted. */
const isAway = (root: string): boolean => !existsSync(root) || readdirSync(root).length === 0;

const isFile = (place: string): boolean => statSync(place, { throwIfNoEntry: false })?.isFile() ?? false;

const put = (root: string, place: string, bytes: Uint8Array): void => {
  const folder = path.dirname(place);
  if (!existsSync(root)) throw new Error(`${root} is not there`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${place}.draft`;
  try {
    writeFileSync(draft, bytes, { mode: 0o600, flush: true });
    renameSync(draft, place);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  for (const one of [folder, path.dirname(folder), root]) syncDirectory(one);
};

/** Answers as workerd's own service of a folder does. */
export const archiveFolder = (root: string): ArchiveFolder => ({
  fetch: async (url, { method, body } = { method: "GET" }) => {
    const place = path.join(root, path.normalize(decodeURIComponent(new URL(url).pathname)));
    if (method === "PUT") put(root, place, body ?? new Uint8Array());
    else if (method === "DELETE") rmSync(place, { recursive: true, force: true });
    else if (isFile(place)) return new Response(new Uint8Array(readFileSync(place)));
    else if (isAway(root)) throw new Error(`${root} has nothing: the archive is away`);
    else return new Response(null, { status: NOT_FOUND });
    return new Response(null, { status: NO_CONTENT });
  },
});

export const serveArchive = async (folder: ArchiveFolder, socket: string): Promise<Server> => {
  const server = createServer(async (request, response) => {
    try {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const init = { method: request.method ?? "GET", body: new Uint8Array(Buffer.concat(pieces)) };
      const answer = await folder.fetch(`http://archive${request.url}`, init);
      response.writeHead(answer.status).end(new Uint8Array(await answer.arrayBuffer()));
    } catch (error) {
      log("error", "archive.failed", { what: String(request.method) }, error);
      response.writeHead(INTERNAL_SERVER_ERROR).end();
    }
  });
  server.listen(socket);
  await once(server, "listening");
  return server;
};
