// The request that opens a WebSocket.

import type { HonoRequest } from "hono";
import { Refused } from "./refused.ts";

export const isUpgrade = (request: HonoRequest): boolean => request.header("upgrade")?.toLowerCase() === "websocket";

export const requireUpgrade = (request: HonoRequest): void => {
  if (!isUpgrade(request)) throw new Refused({ code: "upgrade_required" });
};
