// What a browser reads is compressed, as the platform does it for a deployment: a list of workers or jobs is a tenth as
// long. A program that asks with a key is mostly on the same network, where it would cost both sides time.

import type { Exchange } from "./pass-on.ts";

/** Of an answer that names its bytes, or is a file that somebody stored. */
const AS_IT_IS = ["etag", "content-disposition", "content-encoding"];

const wantsPacked = ({ method, headers }: Exchange["incoming"]): boolean =>
  method === "GET" &&
  headers.cookie !== undefined &&
  headers.authorization === undefined &&
  /\bgzip\b/.test(String(headers["accept-encoding"]));

const packed = (answer: Response): Response => {
  const headers = new Headers(answer.headers);
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  if (answer.body === null || !isJson || AS_IT_IS.some((name) => headers.has(name))) return answer;
  headers.set("content-encoding", "gzip");
  headers.append("vary", "accept-encoding");
  headers.delete("content-length");
  return new Response(answer.body.pipeThrough(new CompressionStream("gzip")), { status: answer.status, headers });
};

export const packedForBrowser = (
  answered: Response | Promise<Response>,
  { incoming }: Exchange,
): Response | Promise<Response> => (wantsPacked(incoming) ? Promise.resolve(answered).then(packed) : answered);
