// A WebSocket to the coordinator, with a key.

import { WebSocket } from "ws";
import { socketAgent } from "../proxies.ts";
import type { SessionSettings } from "./session.ts";

const HANDSHAKE_WITHIN_MS = 10_000;

export interface Coordinator {
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly handshakeWithinMs?: number;
}

export const openSocket = (
  { apiUrl, apiKey, handshakeWithinMs = HANDSHAKE_WITHIN_MS }: Coordinator,
  path: string,
  maxReceivedBytes: number,
): WebSocket =>
  new WebSocket(`${apiUrl.replace(/^http/, "ws")}${path}`, {
    agent: apiUrl.startsWith("https:") ? socketAgent(apiUrl) : undefined,
    headers: { authorization: `Bearer ${apiKey}` },
    handshakeTimeout: handshakeWithinMs,
    maxPayload: maxReceivedBytes,
    perMessageDeflate: false,
  });

/** `connect` is for the worker's messages, `stream` for what its jobs write. */
export const coordinatorSocket = (
  settings: SessionSettings,
  door: "connect" | "stream",
  maxReceivedBytes: number,
): WebSocket => openSocket(settings, `/api/workers/${encodeURIComponent(settings.instance)}/${door}`, maxReceivedBytes);
