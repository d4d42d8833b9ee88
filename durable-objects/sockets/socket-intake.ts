// What comes in over the tenant's sockets: an upgrade, a frame, a close. The messages of a frame share a turn under the
// key that opened the socket, which is checked each time, so an ended key's messages are refused; each has its own
// answer, and one that throws fails alone.

import { type CoordinatorMessage, MAX_FRAME_BYTES } from "../../contract/socket.ts";
import { closeCodes } from "../../contract/words/values.ts";
import { authorize } from "../../domain/access/key.ts";
import { type Brought, MAX_HISTORY_LOOKS } from "../../domain/job/archived-job.ts";
import { absenceRefusal } from "../../domain/tenant/absence.ts";
import { HISTORY_UNAVAILABLE, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { SERVICE, type TurnRunner } from "../calls/turn-runner.ts";
import { type Absent, findArchivedRecords } from "../history/archive.ts";
import { mayActAs, noteDisconnected } from "../operations/fleet/presence.ts";
import { type Credential, identify, identifySocket } from "../steps/holders.ts";
import type { Store } from "../store/open.ts";
import type { Caller } from "../turn/turn.ts";
import type { Live } from "./live.ts";
import { MessagesUnderWay } from "./messages-under-way.ts";
import { absentJobOf, acknowledge, handleMessage, type Incoming, parseFrame, welcome } from "./socket-messages.ts";
import type { Sockets } from "./sockets.ts";
import { type Attachment, NORMAL_CLOSURE, type TenantSocket } from "./tenant-socket.ts";

const FULL_RETRY_SECONDS = 30;

/** Turns of other callers run after so many messages of a frame. */
const MESSAGES_A_TURN = 64;

/** A message to handle; `archived`: its job, if history was asked for it, null if history does not have it. */
interface Heard {
  readonly incoming: Incoming;
  readonly archived?: Brought | null;
}

/** A message whose job has left the object. */
interface Unsettled {
  readonly incoming: Incoming;
  readonly absent: Absent;
}

interface IntakeParts {
  readonly tenant: string;
  readonly database: () => D1Database;
  readonly store: Store;
  readonly sockets: Sockets;
  readonly live: Live;
  readonly turns: TurnRunner;
}

export class SocketIntake {
  readonly #parts: IntakeParts;
  readonly #underWay = new MessagesUnderWay();

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /** Accepts a worker's socket, or a viewer's if `instance` is null. */
  open(socket: TenantSocket, credential: Credential, instance: string | null): Promise<Result<null, Refusal>> {
    const { store, sockets, turns } = this.#parts;
    return turns.run((): Result<null, Refusal> => {
      const caller = identify(store, credential, Date.now());
      if (!caller.ok) return caller;
      const authorized = authorize(caller.value.role, instance === null ? "observe" : "work");
      if (!authorized.ok) return authorized;
      const away = absenceRefusal(turns.memory.absence);
      if (away !== null) return err(away);
      const allowed = instance === null ? ok(null) : mayActAs(turns.newTurn(caller.value), instance);
      if (!allowed.ok) return allowed;
      if (sockets.isFull) return err({ code: "overloaded", retryAfterSeconds: FULL_RETRY_SECONDS });
      this.#accept(socket, caller.value, instance, credential.kind === "session" ? credential.id : null);
      return ok(null);
    });
  }

  #accept(socket: TenantSocket, caller: Caller, instance: string | null, sessionId: string | null): void {
    const { sockets, live, turns } = this.#parts;
    const attachment: Attachment = {
      kind: instance === null ? "viewer" : "worker",
      keyId: caller.keyId ?? "",
      name: caller.name,
      role: caller.role,
      instance: instance ?? "",
      connectedAt: Date.now(),
      openedWith: caller.secretHash ?? "",
      sessionId,
      seq: 0,
    };
    turns.afterCommit(() => {
      if (instance !== null) turns.loadedMemory?.sockets.opening.delete(instance);
      sockets.accept(socket, attachment);
    });
    if (instance === null) turns.afterCommit(() => live.welcome(socket));
    else {
      turns.memory.sockets.opening.add(instance);
      turns.inTurn(caller, (turn) => {
        for (const message of welcome(turn, instance)) this.#say(socket, message);
        return ok(null);
      });
    }
  }

  #say(socket: TenantSocket, message: CoordinatorMessage): void {
    this.#parts.turns.afterCommit(() => this.#parts.sockets.queue(socket, message));
  }

  /** Handles a worker's frame, null if it is not text; a viewer sends nothing. */
  async hear(socket: TenantSocket, frame: string | null): Promise<void> {
    const { attachment } = socket;
    if (attachment === null || attachment.kind === "viewer") return;
    if (frame === null || frame.length > MAX_FRAME_BYTES)
      return socket.close(closeCodes.badFrame, `a frame is text of at most ${MAX_FRAME_BYTES} bytes`);
    // Messages that were in transit when the socket was closed are ignored.
    if (!socket.isOpen) return;
    const parsed = parseFrame(frame);
    if (!parsed.ok)
      return socket.close(closeCodes.badFrame, "detail" in parsed.error ? parsed.error.detail : "bad frame");
    const leave = this.#underWay.enter(socket, parsed.value.length, frame.length);
    if (leave === null)
      return socket.close(closeCodes.tooManyMessages, "more messages in progress than allowed: wait for their acks");
    try {
      // A broadcast is a halt or its end. Thousands confirm it at once, and the last worker must not wait for that.
      if (this.#parts.sockets.isTelling) await this.#parts.sockets.allTold();
      await this.#hearMessages(socket, attachment, parsed.value);
    } finally {
      leave();
    }
  }

  /** Handles a frame; reports on jobs that have left are checked against history, as over HTTP, in one query. */
  async #hearMessages(socket: TenantSocket, attachment: Attachment, messages: readonly Incoming[]): Promise<void> {
    const { database, tenant } = this.#parts;
    const hear = (heard: readonly Heard[]) => this.#hearTogether(socket, attachment, heard);
    let unsettled = await hear(messages.map((incoming) => ({ incoming })));
    for (let looks = 0; unsettled.length > 0; looks += 1) {
      const found =
        looks < MAX_HISTORY_LOOKS
          ? await findArchivedRecords(
              database,
              tenant,
              unsettled.map(({ absent }) => absent),
            )
          : err(HISTORY_UNAVAILABLE);
      if (!found.ok) return this.#refuseAll(socket, unsettled, found);
      const { value } = found;
      unsettled = await hear(
        unsettled.map(({ incoming, absent }) => ({ incoming, archived: value.get(absent.id) ?? null })),
      );
    }
  }

  async #hearTogether(
    socket: TenantSocket,
    attachment: Attachment,
    heard: readonly Heard[],
    messagesATurn: number = MESSAGES_A_TURN,
  ): Promise<Unsettled[]> {
    const hear = async (some: readonly Heard[]): Promise<Unsettled[]> => {
      try {
        return await this.#parts.turns.run(() => this.#handle(socket, attachment, some), false, some.length);
      } catch (error) {
        if (some.length === 1) throw error;
        return this.#hearTogether(socket, attachment, some, 1);
      }
    };
    const turns = [];
    for (let at = 0; at < heard.length; at += messagesATurn) turns.push(hear(heard.slice(at, at + messagesATurn)));
    return (await Promise.all(turns)).flat();
  }

  #refuseAll(socket: TenantSocket, unsettled: readonly Unsettled[], refused: Result<never, Refusal>): Promise<void> {
    return this.#parts.turns.run(() => {
      for (const { incoming } of unsettled) this.#say(socket, acknowledge(incoming.id, refused));
    });
  }

  /** Returns the messages whose jobs must be looked up in history. */
  #handle(socket: TenantSocket, attachment: Attachment, heard: readonly Heard[]): Unsettled[] {
    const { store, turns } = this.#parts;
    const caller = identifySocket(store, attachment, Date.now());
    if (!caller.ok) {
      turns.afterCommit(() => socket.close(closeCodes.keyEnded, "the key has ended"));
      return [];
    }
    const unsettled: Unsettled[] = [];
    turns.inTurn(caller.value, (turn) => {
      let outcome: Result<unknown, Refusal> = ok(null);
      let isAnyDone = false;
      for (const { incoming, archived } of heard) {
        const { id, message } = incoming;
        const done = message.ok ? handleMessage(turn, attachment.instance, message.value, archived ?? null) : message;
        const absent = archived === null ? null : absentJobOf(done);
        // Answers before the messages' other effects.
        if (absent === null) this.#say(socket, acknowledge(id, done));
        else unsettled.push({ incoming, absent });
        if (!isAnyDone) outcome = done;
        isAnyDone ||= done.ok;
      }
      return outcome;
    });
    return unsettled;
  }

  /** A socket has closed; its worker may come back within the grace period. */
  async ended(socket: TenantSocket): Promise<void> {
    const { sockets, turns } = this.#parts;
    socket.close(NORMAL_CLOSURE, "");
    const left = sockets.forget(socket);
    if (left === null) return;
    const { instance, signAt } = left;
    await turns.decide(SERVICE, (turn) => {
      noteDisconnected(turn, instance, { signAt, isConnected: turn.lastSocketSign(instance) !== null });
      return ok(null);
    });
  }
}
