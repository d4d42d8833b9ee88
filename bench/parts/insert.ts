// The floor under everything: one durable row per request, in one object on plain workerd.

import { figure } from "../figures.ts";
import { insertOne } from "../floor/workplace.ts";
import { interleaved, throughput } from "../load.ts";
import type { Bench } from "../plan.ts";
import { freshName } from "../workplace.ts";

export const INSERT = "one durable insert a request";

export const insert = async ({ floor: { port: floorPort }, pace, clients, say }: Bench): Promise<void> => {
  for (const count of clients) {
    const measure = () => {
      const name = freshName();
      const step = (connection: Parameters<typeof insertOne>[0]) => insertOne(connection, name);
      return throughput({ clients: count, port: floorPort, step }, pace);
    };
    const [floor = 0] = await interleaved(pace.rounds, [measure]);
    say(figure({ part: "insert", what: INSERT, clients: count, unit: "jobs/s", floor }));
  }
};
