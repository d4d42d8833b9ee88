// A peer's queue as a workplace, over HTTP. Each claim must return one job with its data.

import { Connection } from "../connection.ts";
import { freshName, type HttpWorkplace, PROMPT, RESULT } from "../workplace.ts";
import type { PeerJob } from "./server.ts";

/** A queue may skip a job that another client is just taking. */
const MAX_CLAIMS = 100;

export const openPeer = async (port: number): Promise<HttpWorkplace> => {
  const name = freshName();
  const opening = await Connection.open(port);
  await opening.call("POST", `/${name}/open`, {});
  opening.close();
  return {
    port,
    authorization: "none",
    enrol: async () => {},
    threeCalls: async (connection) => {
      await connection.call("POST", `/${name}/create`, { prompt: PROMPT });
      const job = await claim(connection, name);
      await connection.call("POST", `/${name}/complete`, { id: job.id, result: RESULT });
    },
    settle: async () => 0,
  };
};

const claim = async (connection: Connection, name: string): Promise<PeerJob> => {
  for (let attempt = 0; attempt < MAX_CLAIMS; attempt += 1) {
    const job = (await connection.call("POST", `/${name}/claim`, {})) as PeerJob | null;
    if (job === null) continue;
    if (job.prompt !== PROMPT) throw new Error(`job ${job.id} came without its data`);
    return job;
  }
  throw new Error(`${MAX_CLAIMS} claims found no job`);
};
