// Calls the operations of `api.ts` in turns. Invariant: every call passes the same checks, in this order: its key, the
// key's role, the key's rate, the killswitch, room for what it stores, and, as every turn does, that the tenant is
// served here. A dry run writes nothing: neither the killswitch nor a full tenant refuses it.

import { authorize } from "../../domain/access/key.ts";
import { permit } from "../../domain/killswitch.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import { type AnswerOf, OPERATIONS, type OperationName, type OperationRow, type RequestOf } from "../api.ts";
import { refuseFull } from "../placing/room.ts";
import { type Credential, identify, isPersonSession } from "../steps/holders.ts";
import type { Store } from "../store/open.ts";
import type { Caller, Turn } from "../turn/turn.ts";
import { KeyRates } from "./key-rates.ts";
import type { TurnRunner } from "./turn-runner.ts";

export class OperationCaller {
  readonly #store: Store;
  readonly #turns: TurnRunner;
  readonly #rates = new KeyRates();

  constructor(store: Store, turns: TurnRunner) {
    this.#store = store;
    this.#turns = turns;
  }

  call<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
  ): Promise<Result<AnswerOf<Name>, Refusal>> {
    return this.callInTurn(credential, name, request, (decide) => decide());
  }

  /** The turn is what `inTurn` makes of the call: it may leave it undone. */
  callInTurn<Name extends OperationName, T>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name>,
    inTurn: (decide: () => Result<AnswerOf<Name>, Refusal>) => T,
  ): Promise<T> {
    const decide = (): Result<AnswerOf<Name>, Refusal> => {
      const caller = this.#admit(credential, name, request);
      return caller.ok ? this.#turns.inTurn(caller.value, (turn) => this.#run(name, turn, request)) : caller;
    };
    return this.#turns.run(() => inTurn(decide), "isVital" in OPERATIONS[name]);
  }

  #run<Name extends OperationName>(name: Name, turn: Turn, request: RequestOf<Name>): Result<AnswerOf<Name>, Refusal> {
    const { needsRoom, makesRoom, run }: OperationRow = OPERATIONS[name];
    const full =
      needsRoom && !isDryRun(request) && makesRoom?.(turn, request as never) !== true ? refuseFull(turn) : ok(null);
    if (!full.ok) return full;
    return (run as (turn: Turn, asked: unknown) => Result<AnswerOf<Name>, Refusal>)(turn, request);
  }

  /** Who calls, if the call is allowed. */
  #admit(credential: Credential, name: OperationName, request: unknown): Result<Caller, Refusal> {
    const operation = OPERATIONS[name];
    const caller = identify(this.#store, credential, Date.now());
    if (!caller.ok) return caller;
    const isForPerson = "isForPeople" in operation && isPersonSession(caller.value);
    const authorized = isForPerson ? ok(null) : authorize(caller.value.role, operation.needs);
    if (!authorized.ok) return authorized;
    const { config, killswitch, absence } = this.#turns.memory;
    const within = this.#rates.take(config.requestLimits, caller.value, credential, Date.now());
    if (!within.ok) return within;
    // Its turn says that the tenant is away, also while it is halted for its move.
    const isLeftToTurn = absence !== null || "isPermittedByVerb" in operation;
    const permitted = isLeftToTurn || isDryRun(request) ? ok(null) : permit(killswitch, operation.kind);
    return permitted.ok ? caller : permitted;
  }
}

const isDryRun = (request: unknown): boolean => (request as { isDryRun?: boolean } | null)?.isDryRun === true;
