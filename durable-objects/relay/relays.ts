// Messages from a tenant to its relays, after a commit: streams that have ended, keys that have ended, bodies that are
// no longer needed; to its runners also jobs. Nothing waits for them; a relay that misses one asks.

import type { CoordinatorMessage } from "../../contract/socket.ts";
import { isEdgeInstance } from "../../domain/fleet/worker.ts";
import { bodyName, type Jurisdiction, objectNamed, relayName } from "../object-name.ts";
import type { EdgeState } from "../operations/fleet/edge-workers.ts";
import type { Effects } from "../turn/effects.ts";
import type { Memory } from "../turn/memory.ts";
import type { Relay } from "./relay.ts";
import type { RunnerCalls } from "./runner-calls.ts";

type RelayCalls = Pick<Relay, "cut" | "end" | "endKey" | "dropBody" | "said">;

type RelayNews = Pick<Effects, "cuts" | "droppedBodies" | "endedKeys">;

/** What a relay passed on of an attempt. */
export interface Said {
  readonly jobId: string;
  readonly lease: number;
  readonly chars: number;
}

/** Runners are relays, too. */
export interface RelayNamespaces {
  readonly RELAY: DurableObjectNamespace<Relay>;
  readonly RUNNER: DurableObjectNamespace<Relay>;
}

export class Relays {
  readonly #namespaces: RelayNamespaces;
  readonly #tenant: string;
  readonly #jurisdiction: () => Jurisdiction | null;

  constructor(namespaces: RelayNamespaces, tenant: string, jurisdiction: () => Jurisdiction | null) {
    this.#namespaces = namespaces;
    this.#tenant = tenant;
    this.#jurisdiction = jurisdiction;
  }

  #stub(name: string): RelayCalls {
    return objectNamed(this.#namespaces.RELAY, name, this.#jurisdiction()) as unknown as RelayCalls;
  }

  #runner(instance: string): RunnerCalls {
    const name = relayName(this.#tenant, instance);
    return objectNamed(this.#namespaces.RUNNER, name, this.#jurisdiction()) as unknown as RunnerCalls;
  }

  /** What a worker process hears on its socket. */
  async tellRunner(instance: string, messages: readonly CoordinatorMessage[]): Promise<void> {
    await this.#runner(instance).hear({ messages, jurisdiction: this.#jurisdiction() });
  }

  /** Whether a provider can be called. */
  async askRunner(instance: string, provider: string): Promise<EdgeState> {
    return this.#runner(instance).state(provider, this.#jurisdiction());
  }

  /** Resolves when all have the message, or could not get it; null if there is none, as after most turns. */
  tell({ cuts, droppedBodies, endedKeys }: RelayNews, memory: Memory | null): Promise<unknown> | null {
    if (cuts.length === 0 && droppedBodies.length === 0 && endedKeys.size === 0) return null;
    const calls: Promise<unknown>[] = [];
    for (const [instance, ofOne] of Map.groupBy(cuts, (cut) => cut.instance))
      calls.push(this.#worker(instance).cut(ofOne));
    calls.push(this.dropBodies(droppedBodies));
    if (endedKeys.size > 0) {
      for (const { worker } of memory?.fleet.members() ?? []) {
        const live = worker.keyId === null ? undefined : endedKeys.get(worker.keyId);
        if (live !== undefined && worker.hasHadLine)
          calls.push(this.#worker(worker.instance).endKey(worker.keyId ?? "", live));
      }
    }
    return Promise.allSettled(calls);
  }

  /** How much was passed on of attempts that have ended; those of which nothing is known are left out. */
  async measure(unmeasured: Effects["unmeasured"]): Promise<Said[]> {
    const asked = [...Map.groupBy(unmeasured, ({ instance }) => instance)].map(async ([instance, ofOne]) => {
      const leases = ofOne.map(({ jobId, lease }) => ({ jobId, lease }));
      const said = await this.#worker(instance)
        .said(leases)
        .catch(() => []);
      return leases.flatMap((lease, at) => (said[at] == null ? [] : [{ ...lease, chars: said[at] }]));
    });
    return (await Promise.all(asked)).flat();
  }

  /** Their jobs have ended, or the tenant is deleted. */
  async dropBodies(jobIds: readonly string[]): Promise<void> {
    await Promise.allSettled(jobIds.map((id) => this.#stub(bodyName(this.#tenant, id)).dropBody(id)));
  }

  /** The tenant is deleted. */
  async endAll(instances: readonly string[]): Promise<void> {
    await Promise.allSettled(instances.map((instance) => this.#worker(instance).end()));
  }

  #worker(instance: string): RelayCalls {
    if (isEdgeInstance(instance)) return this.#runner(instance);
    return this.#stub(relayName(this.#tenant, instance));
  }
}
