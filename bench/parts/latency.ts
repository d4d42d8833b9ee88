// The time from a job's creation until a waiting worker has it, one at a time on an idle server.

import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { openFloor } from "../floor/workplace.ts";
import { percentile } from "../load.ts";
import type { Bench } from "../plan.ts";
import { openSignalbox } from "../signalbox.ts";
import { SocketWorkers } from "../socket-workers.ts";
import type { Workplace } from "../workplace.ts";

const WARM_UP = 50;

const samplesOf = async (place: Workplace, count: number): Promise<number[]> => {
  const worker = await SocketWorkers.connect(place.wire, ["waiting"]);
  const connection = await Connection.open(place.port, place.authorization);
  const samples: number[] = [];
  for (let taken = 0; taken < WARM_UP + count; taken += 1) {
    const startedAt = performance.now();
    const assigned = new Promise<number>((resolve) => {
      worker.onAssigned = () => resolve(performance.now() - startedAt);
    });
    const answered = place.create(connection);
    const latency = await assigned;
    if (taken >= WARM_UP) samples.push(latency);
    await answered;
    await worker.settleTo(taken + 1, 0);
  }
  connection.close();
  worker.close();
  await place.settle();
  return samples;
};

export const latency = async ({
  floor: { port: floorPort },
  signalbox: { port: signalboxPort },
  pace,
  sizes,
  say,
}: Bench): Promise<void> => {
  const floor: number[] = [];
  const signalbox: number[] = [];
  const count = Math.ceil(sizes.latencySamples / pace.rounds);
  for (let round = 0; round < pace.rounds; round += 1) {
    floor.push(...(await samplesOf(await openFloor(floorPort), count)));
    signalbox.push(...(await samplesOf(await openSignalbox(signalboxPort), count)));
  }
  for (const [name, share] of Object.entries({ p50: 0.5, p99: 0.99 })) {
    say(
      figure({
        part: "latency",
        what: `job in → waiting worker has it, ${name}`,
        clients: 1,
        unit: "ms",
        floor: percentile(floor, share),
        signalbox: percentile(signalbox, share),
      }),
    );
  }
};
