// A WebSocket to the coordinator, with a key.

import { WebSocket } from "ws";
import type { SessionSettings } from "./session.ts";

const HANDSHAKE_TIMEOUT_MS = 10_000;

export interface Coordinator {
  readonly apiUrl: string;
  readonly apiKey: string;
}

export const openSocket = ({ apiUrl, apiKey }: Coordinator, path: string, maxReceivedBytes: number): WebSocket =>
  new WebSocket(`${apiUrl.replace(/^http/, "ws")}${path}`, {
    headers: { authorization: `Bearer ${apiKey}` },
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    maxPayload: maxReceivedBytes,
    perMessageDeflate: false,
  });

/** `connect` is for the worker's messages, `stream` for what its jobs write. */
export const coordinatorSocket = (
  settings: SessionSettings,
  door: "connect" | "stream",
  maxReceivedBytes: number,
): WebSocket => openSocket(settings, `/api/workers/${encodeURIComponent(settings.instance)}/${door}`, maxReceivedBytes);
