// The floor's object as a workplace.

import type { Connection } from "../connection.ts";
import type { Wire } from "../socket-workers.ts";
import { BATCH_JOBS, freshName, PROMPT, RESULT, type Workplace } from "../workplace.ts";

interface Pushed {
  id?: number;
  ack?: number;
}

export const openFloor = async (port: number): Promise<Workplace> => {
  const name = freshName();
  const wire: Wire = {
    url: () => `ws://127.0.0.1:${port}/${name}/connect`,
    completionOf: ({ id }: Pushed) => (id === undefined ? null : { id, result: RESULT }),
    isStored: ({ ack }: Pushed) => ack !== undefined,
  };
  const prompts = Array.from({ length: BATCH_JOBS }, () => PROMPT);
  const dispatch = (connection: Connection) => connection.call("POST", `/${name}/dispatch`, { prompts: [PROMPT] });
  return {
    port,
    authorization: "none",
    wire,
    enrol: async () => {},
    threeCalls: async (connection) => {
      await insertOne(connection, name);
      const job = (await connection.call("POST", `/${name}/claim`, {})) as { id: number } | null;
      if (job !== null) await connection.call("POST", `/${name}/complete`, { id: job.id, result: RESULT });
    },
    create: dispatch,
    dispatch,
    batch: (connection) => connection.call("POST", `/${name}/dispatch`, { prompts }),
    settle: async () => 0,
  };
};

/** One durable row per request: the least that accepting a job can cost. */
export const insertOne = (connection: Connection, name: string): Promise<unknown> =>
  connection.call("POST", `/${name}/create`, { prompt: PROMPT });
