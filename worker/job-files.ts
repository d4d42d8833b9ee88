// The files of a job: fetched from the links of its lease, and its outputs, sent to the coordinator. A file passes from
// and to the disk; no process holds it whole.

import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { LeasedJob } from "../contract/fleet/worker.ts";
import { isNeverReached, reasonOf } from "../contract/text/error-causes.ts";
import { NOT_FOUND } from "../contract/words/http-status.ts";
import type { JobFailure } from "./calls/runtime.ts";
import type { FileOpener } from "./run-job.ts";
import { runtimeFetch } from "./runtimes/runtime-fetch.ts";
import { untilSent } from "./session/backoff.ts";
import { mayPass, problemDetail, type SessionSettings } from "./session/session.ts";

/** A file of a job, with a link that lasts as long as the job may. */
type LeasedFile = LeasedJob["files"][number];
/** The same on this machine's disk. */
export type ReceivedFile = Omit<LeasedFile, "url"> & { path: string };

/** A path on the disk, or the bytes, whole or in pieces. */
export type FileBytes = string | Uint8Array | AsyncIterable<Uint8Array>;

type FileSent = { ok: true; file: { name: string } & Record<string, unknown> } | { ok: false; error: JobFailure };

/** Where a job's outputs go. */
export type JobFiles = {
  send: (job: LeasedJob, name: string, bytes: FileBytes, signal: AbortSignal) => Promise<FileSent>;
};

/**
 * A file's bytes as they arrive. Its link has the address at which the file was uploaded; from here the coordinator may
 * have another, so only the path is taken.
 */
const openFile = async (
  { url, name }: LeasedFile,
  apiUrl: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> => {
  const { pathname, search } = new URL(url, apiUrl);
  // The link needs no key, so none is sent.
  const response = await runtimeFetch(apiUrl + pathname + search, { signal });
  if (!response.ok || response.body === null) throw new Error(`${name}: HTTP ${response.status}`);
  return response.body;
};

export const fileOpener =
  ({ apiUrl }: Pick<SessionSettings, "apiUrl">): FileOpener =>
  async (file, signal) =>
    (await openFile(file, apiUrl, signal)) as unknown as AsyncIterable<Uint8Array>;

/** A disk takes 255; a number may come before it. */
const MAX_NAME_BYTES = 200;

/** Writes the job's files into the folder, each under its own name. @throws Error if one cannot be read. */
export const receiveFiles = async (
  job: LeasedJob,
  { apiUrl }: Pick<SessionSettings, "apiUrl">,
  folder: string,
  signal: AbortSignal,
): Promise<ReceivedFile[]> => {
  const received: ReceivedFile[] = [];
  const taken = new Set<string>();
  for (const { url, ...file } of job.files) {
    const place = path.join(folder, freeName(file.name, taken));
    const bytes = await openFile({ url, ...file }, apiUrl, signal);
    await pipeline(Readable.fromWeb(bytes as never), createWriteStream(place), { signal });
    received.push({ ...file, path: place });
  }
  return received;
};

/** A caller chose the name: it must stay in the folder, and differ from the others. */
const freeName = (given: string, taken: Set<string>): string => {
  let plain = given.replaceAll(/[/\\\p{Cc}]/gu, "_").replace(/^\.+/, "_") || "file";
  while (Buffer.byteLength(plain) > MAX_NAME_BYTES) plain = [...plain].slice(1).join("");
  let name = plain;
  for (let count = 2; taken.has(name); count += 1) name = `${count}-${plain}`;
  taken.add(name);
  return name;
};

type Tried = { sent: FileSent; isNeverReached?: boolean };

/** After a connection broke off there is no other try: the coordinator may have the file, and would have it twice. */
export const coordinatorFiles = (at: Pick<SessionSettings, "apiUrl" | "apiKey">): JobFiles => ({
  send: async (job, name, bytes, signal) => {
    const isWhole = typeof bytes === "string" || bytes instanceof Uint8Array;
    const trySend = () => sendFile(at, job, name, bytes, signal);
    const { sent } = await untilSent(trySend, (tried) => isWhole && tried.isNeverReached === true, signal);
    return sent;
  },
});

const sendFile = async (
  { apiUrl, apiKey }: Pick<SessionSettings, "apiUrl" | "apiKey">,
  job: LeasedJob,
  name: string,
  bytes: FileBytes,
  signal: AbortSignal,
): Promise<Tried> => {
  const query = `lease=${job.lease}&name=${encodeURIComponent(name)}`;
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/octet-stream" };
  const body = await bodyOf(bytes).catch((error: unknown) => ({ unreadable: reasonOf(error) }));
  const failed = (error: JobFailure): Tried => ({ sent: { ok: false, error } });
  if ("unreadable" in body) return failed(notKept(`The file ${name} could not be read: ${body.unreadable}`, false));
  try {
    const response = await runtimeFetch(`${apiUrl}/api/jobs/${encodeURIComponent(job.id)}/files?${query}`, {
      method: "POST",
      headers,
      body: body as never,
      signal,
      duplex: "half",
    } as RequestInit);
    const text = await response.text();
    if (response.ok) return { sent: { ok: true, file: { name, ...(JSON.parse(text) as object) } } };
    return failed(refused(name, response.status, problemDetail(text)));
  } catch (error) {
    signal.throwIfAborted();
    const unsent = failed(notKept(`The file ${name} could not be sent: ${reasonOf(error)}`, true));
    return { ...unsent, isNeverReached: isNeverReached(error) };
  } finally {
    if (body instanceof Readable) body.destroy();
  }
};

const bodyOf = async (bytes: FileBytes): Promise<Uint8Array | Readable> => {
  if (bytes instanceof Uint8Array) return bytes;
  if (typeof bytes !== "string") return listenedTo(Readable.from(listenedTo(bytes)));
  return listenedTo((await open(bytes)).createReadStream());
};

/** A stream that fails before anybody reads it would end the process; who reads it later learns of the failure. */
const listenedTo = <T>(bytes: T): T => {
  if (bytes instanceof Readable) bytes.on("error", () => {});
  return bytes;
};

const refused = (name: string, status: number, detail: string): JobFailure => {
  // Of the address itself, not of the job.
  if (status === NOT_FOUND && detail.startsWith("route "))
    return notKept(`This coordinator keeps no files of jobs: ${name} has no place to go`, false);
  const said = detail === "" ? `HTTP ${status}` : detail;
  return notKept(`The coordinator did not take the file ${name}: ${said}`, mayPass(status));
};

const notKept = (message: string, retryable: boolean): JobFailure => ({ code: "file_not_kept", message, retryable });
