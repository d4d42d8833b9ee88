// The way out of this server's processes: by the operator's proxies, if there are any.

import { log } from "../../log/log.ts";
import type { Proxies } from "../../worker/dispatcher.ts";
import { type Detours, detoursIn } from "../config/networks.ts";

interface WayOut {
  /** Null: nothing is in between. */
  readonly detours: Detours | null;
  readonly close: () => void;
}

const DIRECT: WayOut = { detours: null, close: () => {} };

/** `folder`: where its sockets are made; null: there are none, as on Windows. */
export const openWayOut = async (proxies: Proxies | null, folder: string | null): Promise<WayOut> => {
  if (proxies === null) return DIRECT;
  if (folder === null) {
    log("warn", "way_out.unused", { detail: "On Windows, no proxy is used for what the service itself calls." });
    return DIRECT;
  }
  // Loaded only then, because it takes a start a tenth of a second.
  const { serveWayOut } = await import("./way-out.ts");
  const detours = detoursIn(folder);
  return { detours, close: await serveWayOut(proxies, detours) };
};
