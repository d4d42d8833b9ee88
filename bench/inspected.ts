// Signalbox on a workerd with the inspector enabled: the config that `npm start` wrote, served once more.

import { readFileSync } from "node:fs";
import path from "node:path";
import { Inspector } from "./inspector.ts";
import { freePort, type Served, startProcess, WORKERD } from "./processes.ts";
import { servingEnvironment, startSignalbox } from "./signalbox.ts";

/** The config's name for the service with the edge and the objects. */
const SERVICE = "edge";

/** The code that it runs, as the build wrote it. */
export const bundleText = (): string =>
  readFileSync(path.resolve(import.meta.dirname, "../dist/worker/index.js"), "utf8");

export interface Inspected extends Served {
  inspector: Inspector;
}

export async function startInspected(dataDir: string): Promise<Inspected> {
  const prepared = await startSignalbox(dataDir);
  await prepared.stop();
  const inspectorPort = await freePort();
  const signingSecret = readFileSync(path.join(dataDir, "signing.secret"), "utf8").trim();
  const served = await startProcess({
    command: WORKERD,
    args: ["serve", "--experimental", `-i127.0.0.1:${inspectorPort}`, path.join(dataDir, "serving.capnp")],
    port: prepared.port,
    env: { ...servingEnvironment(), SERVICE_SIGNING_SECRET: signingSecret },
  });
  try {
    const inspector = await Inspector.open(inspectorPort, SERVICE);
    const stop = async () => {
      inspector.close();
      await served.stop();
    };
    return { ...served, inspector, stop };
  } catch (error) {
    await served.stop();
    throw error;
  }
}
