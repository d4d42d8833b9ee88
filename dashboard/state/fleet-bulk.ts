// One action on many workers: a few requests at a time, with the refusals collected.

import type { WorkerListQuery } from "../../contract/fleet/worker.ts";
import { api } from "../api.ts";

const PAGE = 200;
const AT_A_TIME = 8;

export type FleetFilter = Partial<Pick<WorkerListQuery, "q" | "state" | "provider" | "tag">>;

interface Outcome {
  readonly done: number;
  readonly refused: readonly { instance: string; message: string }[];
}

export const namesThatMatch = async (filter: FleetFilter): Promise<string[]> => {
  const names: string[] = [];
  for await (const { instance } of api.workers.list({ ...filter, sort: "instance", limit: PAGE })) names.push(instance);
  return names;
};

export const onEach = async (
  instances: readonly string[],
  act: (instance: string) => Promise<unknown>,
  onDone: (count: number) => void,
): Promise<Outcome> => {
  const left = [...instances].reverse();
  const refused: { instance: string; message: string }[] = [];
  let done = 0;
  const workOff = async (): Promise<void> => {
    for (let instance = left.pop(); instance !== undefined; instance = left.pop()) {
      try {
        await act(instance);
        done += 1;
      } catch (error) {
        refused.push({ instance, message: (error as Error).message });
      }
      onDone(done + refused.length);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, workOff));
  return { done, refused };
};
