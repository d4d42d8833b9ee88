// The sockets of clients on one line, with an object that says what the test wants: what goes on the line, and what
// becomes of clients that write too much.

import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { OPEN_SOCKET, SOCKETS } from "../../../durable-objects/sockets/object-line.ts";
import { readSocketGroup, type SocketGroup, SocketGroupWriter } from "../../../durable-objects/sockets/socket-group.ts";
import { type ClientSocket, ClientSockets } from "../../../self-host/edge/client-sockets.ts";
import { FairTurns } from "../../../self-host/edge/turns/fair-turns.ts";

const OPENING = { credential: { kind: "key", id: "k", hash: "h" } as const, instance: "w" };
const MANY_BYTES = 64 * 1024 * 1024;

class FakeClient implements ClientSocket {
  readonly got: string[] = [];
  isPaused = false;
  toldTimes = 0;
  say: (text: string | null) => void = () => undefined;
  leave: (code: number, reason: string) => void = () => undefined;

  listen: ClientSocket["listen"] = (onText, onClose) => {
    this.say = onText;
    this.leave = onClose;
  };
  send = (text: Uint8Array): void => void this.got.push(new TextDecoder().decode(text));
  close = (code: number, reason: string): void => void this.got.push(`closed ${code} ${reason}`);
  cut = (): void => void this.got.push("cut");
  pause = (): void => {
    this.isPaused = true;
  };
  told = (): void => {
    this.toldTimes += 1;
  };
  resume = (): void => {
    this.isPaused = false;
  };
}

let told: SocketGroup[];
/** Messages that the object has not answered. */
let asked: (() => void)[];
let takeTurn: () => Promise<() => void> | null;
let unsentBytes: number;
/** How the object answers an opening. */
let answer: () => Promise<unknown>;
let sockets: ClientSockets;

beforeEach(() => {
  const groups: SocketGroup[] = [];
  told = groups;
  unsentBytes = 0;
  asked = [];
  takeTurn = () => null;
  answer = async () => ({ ok: true, value: null });
  sockets = new ClientSockets({
    call: (method, args) => {
      expect(method).toBe(OPEN_SOCKET);
      expect(args.slice(1)).toEqual([OPENING.credential, OPENING.instance]);
      return answer();
    },
    tell: (method, text) => {
      expect(method).toBe(SOCKETS);
      groups.push(readSocketGroup(text));
    },
    ask: (method, text) => {
      expect(method).toBe(SOCKETS);
      groups.push(readSocketGroup(text));
      return new Promise((resolve) => asked.push(() => resolve("")));
    },
    takeTurn: () => takeTurn(),
    unsentBytes: () => unsentBytes,
  });
});

const opened = async (): Promise<FakeClient> => {
  const client = new FakeClient();
  await sockets.open(OPENING, () => client);
  return client;
};
const group = (write: (writer: SocketGroupWriter) => void): string => {
  const writer = new SocketGroupWriter();
  write(writer);
  return writer.take().text;
};
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("what clients say", () => {
  it("in one tick is one message, each text with its socket", async () => {
    const [one, two] = [await opened(), await opened()];
    one.say("a");
    two.say(null);
    one.say("b");
    await tick();
    const shared = (text: string | null, socket: number) => ({ text, sockets: [socket] });
    expect(told).toEqual([{ texts: [shared("a", 1), shared(null, 2), shared("b", 1)], closes: [] }]);
  });

  it("goes at once where it is long", async () => {
    const client = await opened();
    client.say("x".repeat(1_100_000));
    expect(told).toHaveLength(1);
  });

  it("comes before that they have left", async () => {
    const client = await opened();
    client.say("last");
    client.leave(1000, "bye");
    await tick();
    expect(told).toEqual([
      { texts: [{ text: "last", sockets: [1] }], closes: [{ socket: 1, code: 1000, reason: "bye" }] },
    ]);
    expect(sockets.size).toBe(0);
  });

  it("is not read further while the object is far behind", async () => {
    const [one, two] = [await opened(), await opened()];
    unsentBytes = MANY_BYTES;
    one.say("a");
    expect([one.isPaused, two.isPaused]).toEqual([true, false]);
    unsentBytes = 0;
    sockets.resume();
    expect(one.isPaused).toBe(false);
  });

  it("is read again once, and not at all if it has left meanwhile", async () => {
    const [one, two] = [await opened(), await opened()];
    unsentBytes = MANY_BYTES;
    one.say("a");
    two.say("a");
    two.leave(1006, "");
    unsentBytes = 0;
    sockets.resume();
    expect([one.isPaused, two.isPaused]).toEqual([false, true]);
    one.pause();
    sockets.resume();
    expect(one.isPaused).toBe(true);
  });
});

describe("a ping", () => {
  it("is answered at once, and the object is told of many together, soon", async () => {
    const clients = await Promise.all(Array.from({ length: 100 }, opened));
    for (const client of clients) for (let count = 0; count < 3; count += 1) client.say("ping");
    for (const { got } of clients) expect(got).toEqual(["pong", "pong", "pong"]);
    expect(told).toEqual([]);
    await expect.poll(() => told).toMatchObject([{ texts: [{ text: "ping" }], closes: [] }]);
    expect(told[0]?.texts[0]?.sockets).toHaveLength(100);
    await pause(300);
    expect(told).toHaveLength(1);
  });

  it("is told before the client's close", async () => {
    const client = await opened();
    client.say("ping");
    client.leave(1006, "");
    await tick();
    expect(told).toMatchObject([{ texts: [{ text: "ping", sockets: [1] }], closes: [{ socket: 1 }] }]);
  });
});

describe("what the object says", () => {
  it("reaches each client that it is for, in order, and nobody else", async () => {
    const [one, two, three] = [await opened(), await opened(), await opened()];
    sockets.take(
      group((writer) => {
        writer.add(1, "job");
        for (const socket of [1, 3]) writer.share(socket, "halt");
        writer.close({ socket: 3, code: 4401, reason: "ended" });
      }),
    );
    expect([one.got, two.got, three.got]).toEqual([["job", "halt"], [], ["halt", "closed 4401 ended"]]);
  });

  it("before the handshake is complete is told then", async () => {
    const client = new FakeClient();
    answer = async () => {
      sockets.take(group((writer) => writer.add(1, "welcome")));
      sockets.take(group((writer) => writer.close({ socket: 1, code: 4409, reason: "replaced" })));
      expect(client.got).toEqual([]);
      return { ok: true, value: null };
    };
    await sockets.open(OPENING, () => client);
    expect(client.got).toEqual(["welcome", "closed 4409 replaced"]);
  });

  it("to one that has left goes nowhere", async () => {
    const client = await opened();
    client.leave(1000, "");
    sockets.take(group((writer) => writer.add(1, "late")));
    expect(client.got).toEqual([]);
  });
});

describe("a socket", () => {
  it("that the tenant refuses is not upgraded", async () => {
    const refusal = { ok: false, error: { code: "forbidden" } };
    answer = async () => refusal;
    const never = (): never => {
      throw new Error("it was upgraded");
    };
    expect(await sockets.open(OPENING, never)).toEqual(refusal);
    answer = () => Promise.reject(new Error("the line has ended"));
    await expect(sockets.open(OPENING, never)).rejects.toThrow("the line has ended");
    expect(sockets.size).toBe(0);
  });

  it.each([
    ["has left meanwhile", () => null],
    [
      "spoils its handshake",
      () => {
        throw new Error("no key");
      },
    ],
  ])("whose client %s ends in the object, too", async (_, upgrade) => {
    await sockets.open(OPENING, upgrade).catch(() => undefined);
    await tick();
    expect(told).toMatchObject([{ closes: [{ socket: 1 }] }]);
    expect(sockets.size).toBe(0);
  });

  it("ends with its line, and nothing more is told", async () => {
    const clients = [await opened(), await opened()];
    clients[0]?.say("lost");
    sockets.end();
    for (const client of clients) {
      expect(client.got).toEqual(["cut"]);
      client.leave(1006, "");
    }
    await tick();
    expect(told).toEqual([]);
    expect(sockets.size).toBe(0);
  });
});

describe("beside other tenants", () => {
  const TURN_ENDS_AFTER_MS = 50;
  let turns: FairTurns;
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    turns = new FairTurns(() => nowAt);
    let nowAt = 0;
    takeTurn = () => {
      turns.take("other", "usual");
      return turns.take("a", "telling");
    };
    passes = (ms) => {
      nowAt += ms;
      vi.advanceTimersByTime(ms);
    };
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  let passes: (ms: number) => void;
  const textsOf = () => told.map(({ texts }) => texts.map(({ text }) => text));

  it("the object is told the next message when the one before was carried out", async () => {
    const one = await opened();
    one.say("a");
    await tick();
    one.say("b");
    one.say("c");
    await tick();
    expect(textsOf()).toEqual([["a"]]);
    asked[0]?.();
    await tick();
    expect(textsOf()).toEqual([["a"], ["b", "c"]]);
  });

  it("one message that takes very long, because history does not answer, holds up the others for a moment", async () => {
    const one = await opened();
    for (const text of ["waits for history", "next"]) {
      one.say(text);
      await tick();
    }
    expect(textsOf()).toEqual([["waits for history"]]);
    passes(TURN_ENDS_AFTER_MS);
    passes(2 * TURN_ENDS_AFTER_MS);
    await tick();
    expect(textsOf()).toEqual([["waits for history"], ["next"]]);
  });

  it("a turn that is refused, because the process stood still, loses nothing", async () => {
    takeTurn = () => Promise.reject(new Error("rate_limited"));
    const one = await opened();
    for (const text of ["a", "b"]) {
      one.say(text);
      await tick();
    }
    expect(textsOf()).toEqual([["a"], ["b"]]);
  });

  it("pings alone take no turn, and make no tenant an active one", async () => {
    let taken = 0;
    takeTurn = () => {
      taken += 1;
      return null;
    };
    const one = await opened();
    one.say("ping");
    passes(1_000);
    await tick();
    expect([textsOf(), taken]).toEqual([[["ping"]], 0]);
    one.say("ping");
    one.say("a");
    await tick();
    expect([textsOf().flat(), taken]).toEqual([["ping", "a"], 1]);
  });

  it("it is told little at a time, or one long text, and nothing is lost", async () => {
    const one = await opened();
    const long = "x".repeat(200_000);
    for (const text of ["a", long, "b", "c"]) one.say(text);
    one.leave(1000, "bye");
    for (let at = 0; at < 6; at += 1) {
      await tick();
      asked[at]?.();
    }
    expect(textsOf()).toEqual([["a"], [long], ["b", "c"]]);
    expect(told.map(({ closes }) => closes.length)).toEqual([0, 0, 1]);
  });

  it("what many clients say alike is as much as if they said different things", async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, opened));
    const alike = "x".repeat(40_000);
    for (const client of clients) client.say(alike);
    for (let at = 0; at < 10; at += 1) {
      await tick();
      asked[at]?.();
    }
    expect(told.map(({ texts }) => texts.flatMap(({ sockets }) => sockets))).toEqual(clients.map((_, at) => [at + 1]));
  });

  it("clients that say very much of nothing are not read on", async () => {
    const one = await opened();
    one.say("a");
    await tick();
    for (let count = 0; count < 20_000; count += 1) one.say("");
    expect(one.isPaused).toBe(true);
  });

  it("clients that say more than a message holds are read on when most of it was told", async () => {
    const [one, two] = [await opened(), await opened()];
    one.say("a");
    await tick();
    for (const said of [600_000, 600_001]) one.say("x".repeat(said));
    two.say("y".repeat(900_000));
    const states = () => [one, two].map(({ isPaused, toldTimes }) => [isPaused, toldTimes]);
    const carryOut = async (at: number) => {
      asked[at]?.();
      await tick();
      return states();
    };
    expect(states()).toEqual([
      [true, 1],
      [true, 0],
    ]);
    expect(await carryOut(0)).toEqual([
      [true, 1],
      [true, 0],
    ]);
    expect(await carryOut(1)).toEqual([
      [false, 2],
      [false, 0],
    ]);
    expect((await carryOut(2))[1]).toEqual([false, 1]);
  });

  it("clients that wait for a turn are read on when the tenant is alone again", async () => {
    const one = await opened();
    one.say("a");
    await tick();
    one.say("x".repeat(1_100_000));
    expect(one.isPaused).toBe(true);
    takeTurn = () => null;
    passes(TURN_ENDS_AFTER_MS);
    passes(2 * TURN_ENDS_AFTER_MS);
    await tick();
    expect([one.isPaused, told.length]).toEqual([false, 2]);
  });
});
