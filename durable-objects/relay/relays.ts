// Messages from a tenant to its relays, after a commit: streams that have ended, keys that have ended, bodies that are
// no longer needed; to its runners also jobs. Nothing waits for them; a relay that misses one asks.

import type { CoordinatorMessage } from "../../contract/socket.ts";
import { isEdgeInstance } from "../../domain/fleet/worker.ts";
import { bodyName, type Jurisdiction, objectNamed, type RelayLayout, relayName } from "../object-name.ts";
import type { EdgeState } from "../operations/fleet/edge-workers.ts";
import type { Effects } from "../turn/effects.ts";
import type { Memory } from "../turn/memory/memory.ts";
import type { Relay } from "./relay.ts";
import type { RunnerCalls } from "./runner-calls.ts";

type RelayCalls = Pick<Relay, "cut" | "end" | "endKey" | "endOthers" | "dropBody" | "said">;

type RelayNews = Pick<Effects, "cuts" | "droppedBodies" | "endedKeys" | "handedOver">;

/** What a relay passed on of an attempt. */
interface Said {
  readonly jobId: string;
  readonly lease: number;
  readonly chars: number;
}

/** Runners are relays, too. */
interface RelayNamespaces extends RelayLayout {
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
    return objectNamed(this.#namespaces.RELAY, name, this.#jurisdiction());
  }

  #runner(instance: string): RunnerCalls {
    return objectNamed(this.#namespaces.RUNNER, this.#nameOf(instance), this.#jurisdiction());
  }

  /** What a worker process hears on its socket. */
  async tellRunner(instance: string, messages: readonly CoordinatorMessage[]): Promise<void> {
    await this.#runner(instance).hear({ messages, jurisdiction: this.#jurisdiction() });
  }

  /** Whether its provider can be called. */
  async askRunner(instance: string): Promise<EdgeState> {
    return this.#runner(instance).state(this.#jurisdiction());
  }

  /** Resolves when all have the message, or could not get it; null if there is none, as after most turns. */
  tell({ cuts, droppedBodies, endedKeys, handedOver }: RelayNews, memory: Memory | null): Promise<unknown> | null {
    const leftLines = handedOver.filter(({ hasHadLine }) => hasHadLine);
    if (cuts.length + droppedBodies.length + endedKeys.size + leftLines.length === 0) return null;
    const calls = this.#byRelay(cuts).map(([relay, some]) => relay.cut(some));
    calls.push(this.dropBodies(droppedBodies));
    for (const [relay, some] of this.#byRelay(leftLines))
      calls.push(relay.endOthers(some.map(({ instance, keyId }) => ({ instance, keyId }))));
    for (const [keyId, live] of endedKeys) {
      const lines = [...(memory?.fleet.members() ?? [])].filter(
        ({ worker }) => worker.hasHadLine && worker.keyId === keyId,
      );
      for (const [relay] of this.#byRelay(lines.map(({ worker }) => worker))) calls.push(relay.endKey(keyId, live));
    }
    return Promise.allSettled(calls);
  }

  /** How much was passed on of attempts that have ended; those of which nothing is known are left out. */
  async measure(unmeasured: Effects["unmeasured"]): Promise<Said[]> {
    const asked = this.#byRelay(unmeasured).map(async ([relay, leases]) => {
      const said = await relay.said(leases).catch(() => []);
      return leases.flatMap(({ jobId, lease }, at) => (said[at] == null ? [] : [{ jobId, lease, chars: said[at] }]));
    });
    return (await Promise.all(asked)).flat();
  }

  /** Their jobs have ended, or the tenant is deleted. */
  async dropBodies(jobIds: readonly string[]): Promise<void> {
    await Promise.allSettled(jobIds.map((id) => this.#stub(bodyName(this.#tenant, id)).dropBody(id)));
  }

  /** The tenant is deleted. */
  async endAll(instances: readonly string[]): Promise<void> {
    await Promise.allSettled(this.#byRelay(instances.map((instance) => ({ instance }))).map(([relay]) => relay.end()));
  }

  /** What concerns workers, for each of their relays. */
  #byRelay<Of extends { readonly instance: string }>(all: readonly Of[]): [RelayCalls, Of[]][] {
    const named = Map.groupBy(all, ({ instance }) => this.#nameOf(instance));
    return [...named].map(([name, some]) => [this.#relay(name, some[0]?.instance ?? ""), some]);
  }

  #relay(name: string, instance: string): RelayCalls {
    return isEdgeInstance(instance) ? this.#runner(instance) : this.#stub(name);
  }

  #nameOf(instance: string): string {
    return relayName(this.#namespaces, this.#tenant, instance);
  }
}
