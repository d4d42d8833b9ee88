// What a browser reads is compressed, as the platform does it for a deployment: a list of workers or jobs is a tenth as
// long. A program that asks with a key is mostly on the same network, where it would cost both sides time.

import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import { isComplete } from "../../src/http/headers.ts";
import type { Exchange } from "./pass-on.ts";

/** Of an answer that names its bytes, or is a file that somebody stored. */
const AS_IT_IS = ["etag", "content-disposition", "content-encoding"];

/** Each holds its text meanwhile, and what is beyond goes as it is. */
const MOST_AT_ONCE = 16;

/** A list is hardly longer than with more effort, and a megabyte of prose takes a fifth of the time. */
const EFFORT = { level: constants.Z_BEST_SPEED };

const compressed = promisify(gzip);
let underWay = 0;

const wantsPacked = ({ method, headers }: Exchange["incoming"]): boolean =>
  method === "GET" &&
  headers.cookie !== undefined &&
  headers.authorization === undefined &&
  /\bgzip\b/.test(String(headers["accept-encoding"]));

/** Whole: of what is compressed while it is sent, nobody would count what its client leaves unread (`unread.ts`). */
const packed = async (answer: Response): Promise<Response> => {
  if (!isComplete(answer) || underWay >= MOST_AT_ONCE) return answer;
  const headers = new Headers(answer.headers);
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  if (!isJson || AS_IT_IS.some((name) => headers.has(name))) return answer;
  headers.set("content-encoding", "gzip");
  headers.append("vary", "accept-encoding");
  headers.delete("content-length");
  underWay += 1;
  try {
    return new Response(await compressed(await answer.arrayBuffer(), EFFORT), { status: answer.status, headers });
  } finally {
    underWay -= 1;
  }
};

export const packedForBrowser = (
  answered: Response | Promise<Response>,
  { incoming }: Exchange,
): Response | Promise<Response> => (wantsPacked(incoming) ? Promise.resolve(answered).then(packed) : answered);
