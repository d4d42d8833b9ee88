// A WebSocket to the coordinator, with the worker's key.

import { WebSocket } from "ws";
import type { SessionSettings } from "./session.ts";

const HANDSHAKE_TIMEOUT_MS = 10_000;

/** `connect` is for the worker's messages, `stream` for what its jobs write. */
export function coordinatorSocket(
  { apiUrl, apiKey, instance }: SessionSettings,
  door: "connect" | "stream",
  maxReceivedBytes: number,
): WebSocket {
  const url = `${apiUrl.replace(/^http/, "ws")}/api/workers/${encodeURIComponent(instance)}/${door}`;
  return new WebSocket(url, {
    headers: { authorization: `Bearer ${apiKey}` },
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxPayload: maxReceivedBytes,
    perMessageDeflate: false,
  });
}
