// Whose turn of the event loop a request takes, and how much of it: its key's, if the key's tag was checked lately.
// Keys, cookies and paths can be invented without end, so all else takes the turn of the address that it comes from;
// whether the service is well is always answered.

import type { IncomingMessage } from "node:http";
import { isCheckedToken, keyIn, SESSION_COOKIES } from "../../../src/http/auth.ts";

const HEALTH_PATH = "/health";

interface TurnOwner {
  readonly name: string;
  readonly isKey: boolean;
}

const tokenIn = ({ authorization, "x-api-key": apiKey, cookie = "" }: IncomingMessage["headers"]): string =>
  keyIn(authorization, apiKey?.toString()) ?? sessionIn(cookie);

/** Other services of this machine have cookies, too. */
const sessionIn = (cookie: string): string =>
  [...cookie.matchAll(SESSION_COOKIES)].map(([, token = ""]) => token).find(isCheckedToken) ?? "";

export const turnOwnerOf = ({ headers, url = "" }: IncomingMessage, addressOf: () => string): TurnOwner => {
  const token = tokenIn(headers);
  if (isCheckedToken(token)) return { name: token, isKey: true };
  return { name: url === HEALTH_PATH ? url : addressOf(), isKey: false };
};

/** To read so much of a body takes as long as to begin another request. */
const BODY_BYTES = 8 * 1024;
/** Of a body of unknown length. */
const UNKNOWN_BYTES = 8 * BODY_BYTES;

/** How many requests without a body it counts as. */
export const turnSizeOf = ({ headers }: IncomingMessage): number => {
  const bytes = headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : UNKNOWN_BYTES;
  return 1 + Math.floor(bytes / BODY_BYTES);
};
