// GET /health through the whole edge, compared with the smallest possible worker: the cost of serving alone.

import { figure } from "../figures.ts";
import { interleaved, throughput } from "../load.ts";
import type { Bench } from "../plan.ts";

export const health = async ({
  floor: { port: floorPort },
  signalbox: { port: signalboxPort },
  pace,
  clients,
  say,
}: Bench): Promise<void> => {
  for (const count of clients) {
    const rate = (port: number) =>
      throughput({ clients: count, port, step: (connection) => connection.request("GET", "/health") }, pace);
    const [floor = 0, signalbox = 0] = await interleaved(pace.rounds, [
      () => rate(floorPort),
      () => rate(signalboxPort),
    ]);
    say(figure({ part: "health", what: "GET /health", clients: count, unit: "req/s", floor, signalbox }));
  }
};
