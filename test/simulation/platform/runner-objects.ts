// The objects that call hosted providers for the tenant, as it sees them: they take jobs, and
// are lost with all that they hold. What they do is in `runners.ts`.

import type { CoordinatorMessage } from "../../../contract/socket.ts";
import type { ToRunner } from "../../../durable-objects/relay/runner-calls.ts";

/** One job that a runner has. */
export interface Call {
  readonly instance: string;
  readonly id: string;
  readonly lease: number;
  isStarted: boolean;
}

const heedsNothing = async (): Promise<void> => {};

export class Runners {
  /** Calls by job and lease. */
  readonly calls = new Map<string, Call>();
  /** Of objects that are gone: nobody told the tenant. */
  readonly lost: Call[] = [];
  /** Why the provider takes no call, as far as can be known without one. */
  unavailable: string | null = null;
  /** Called with each job that one is given. */
  given: (call: Call) => void = () => {};

  readonly binding = {
    getByName: (name: string) => {
      const instance = name.split("/").slice(1).join("/");
      return {
        hear: async ({ messages }: ToRunner) => {
          for (const message of messages) this.#hear(instance, message);
        },
        state: async () => ({ apis: ["chat/completions"], unavailable: this.unavailable }),
        cut: async (cuts: readonly { jobId: string; lease: number }[]) => {
          for (const { jobId, lease } of cuts) this.calls.delete(`${jobId}/${lease}`);
        },
        end: heedsNothing,
        endKey: heedsNothing,
        endOthers: heedsNothing,
        dropBody: heedsNothing,
        said: async (leases: readonly unknown[]) => leases.map(() => 40),
      };
    },
  };

  #hear(instance: string, message: CoordinatorMessage): void {
    if (message.type === "job.halted") this.calls.delete(`${message.job_id}/${message.lease}`);
    if (message.type !== "job.assigned") return;
    const call = { instance, id: message.job.id, lease: message.job.lease, isStarted: false };
    this.calls.set(`${call.id}/${call.lease}`, call);
    this.given(call);
  }

  /** An object ends with its calls. */
  lose(instance: string): void {
    for (const [key, call] of this.calls) {
      if (call.instance !== instance) continue;
      this.calls.delete(key);
      this.lost.push(call);
    }
  }
}
