// Starting workerd.

import { createRequire } from "node:module";
import path from "node:path";
import { type Supervised, supervise } from "./supervised.ts";

/** The native binary itself: signals must reach it, not a launcher. */
export const WORKERD: string = createRequire(import.meta.url)("workerd").default;

/** The variables of our environment that workerd itself may need: where certificates are. */
const SYSTEM_VARIABLES = ["SSL_CERT_FILE", "SSL_CERT_DIR", "TZ"];

/** Its working directory is the data folder, so that its process can be identified. */
export const startWorkerd = (
  config: string,
  environment: Record<string, string>,
  inspectorPort?: number,
): Supervised => {
  const system = SYSTEM_VARIABLES.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const env = { ...Object.fromEntries(system), ...environment };
  const inspector = inspectorPort === undefined ? [] : [`-i127.0.0.1:${inspectorPort}`];
  return supervise("workerd", WORKERD, ["serve", "--experimental", ...inspector, config], env, path.dirname(config));
};
