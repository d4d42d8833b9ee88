// Signalbox as `npm start` serves it, with the inspector of the process that has the tenants.

import { Inspector } from "./measure/inspector.ts";
import { freePort, type Served } from "./measure/processes.ts";
import { startSignalbox } from "./signalbox.ts";

/** The config's name for the service with the app and the objects. */
const SERVICE = "edge";

export interface Inspected extends Served {
  inspector: Inspector;
}

export const startInspected = async (dataDir: string): Promise<Inspected> => {
  const inspectorPort = await freePort();
  const served = await startSignalbox(dataDir, undefined, ["--inspect", String(inspectorPort)]);
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
};
