// Faults around the object: time, alarms, crashes, failed turns, and a history that is down.

import type { Step, StepKind } from "../plan.ts";
import { oneOf } from "../platform/random.ts";
import { TENANT } from "../platform/shell.ts";
import type { Action, World } from "../world.ts";
import { ENDPOINTS } from "./receiver.ts";

/** From a millisecond to about seven minutes, short spans as often as long ones. */
const spanOf = (chance: number): number => Math.ceil(10 ** (chance * 5.6));

const letTimePass: Action = (world, [span]) => world.shell.advance(spanOf(span));

const holdAlarm: Action = (world) => {
  world.shell.isAlarmHeld = true;
};

const releaseAlarm: Action = async (world) => {
  world.shell.isAlarmHeld = false;
  await world.shell.fireAlarm();
};

/** Twice, or when nothing is due. */
const alarmOutOfTurn: Action = (world) => world.shell.nudge();

const crashObject: Action = (world) => {
  world.shell.crash("evicted");
};

const replaceObject: Action = ({ shell }, [misdirected]) => shell.replace(Math.floor(misdirected * 4));

const deploy: Action = (world) => {
  world.shell.crash("deployed");
};

const breakTurn =
  (kind: "throw" | "crash"): Action =>
  (world, [statements]) => {
    world.shell.handle.failAfter(1 + Math.floor(statements * 12), kind);
  };

const changeWeather: Action = (world: World, [to]: Step["chances"]) => {
  world.shell.history.weather = oneOf(["fine", "slow", "down", "answer lost", "fine"], to);
};

const historyAnswers: Action = (world, [how]) => {
  world.shell.history.answer(oneOf(["fine", "fine", "down", "answer lost"], how));
};

const lateBatchLands: Action = (world, [arrives]) => {
  world.shell.history.land(arrives < 0.8);
};

const MAX_DARK_MS = 26 * 3_600_000;

const losePower: Action = async ({ shell }, [hours]) => {
  shell.crash("deployed");
  shell.clock.nowAt += Math.ceil(hours * MAX_DARK_MS);
  await shell.fireAlarm();
};

const setClockBack: Action = ({ shell }, [span]) => {
  shell.clock.setBack(spanOf(span));
};

const MOST_AHEAD_MS = 3_600_000;
/** Every so often viewers are told what has changed. */
const FRAME_MS = 100;

/** The object sleeps or works on, and its alarm comes when the platform looks. */
const setClockAhead: Action = async ({ isShared, model, shell, viewers }, [span]) => {
  // A job that ended is here for many frames, but not once an hour has passed within one.
  if (viewers.length > 0) await shell.advance(FRAME_MS);
  // One that is on its way counts as lost then, and is tried again beside it.
  if (shell.receiver.open.size > 0) return;
  const ms = Math.ceil(span * MOST_AHEAD_MS);
  // A worker that waits for a job goes on to wait, and was not silent meanwhile; nor is one whose report has no turn yet.
  const sinceMs = isShared ? 1 : 0;
  prolong(model.signs, shell.clock.nowAt - sinceMs, ms);
  prolong(model.heardAt, shell.clock.elapsedAt - sinceMs, ms);
  // Nor has a delivery that is due waited for its alarm meanwhile.
  for (const [id, sinceAt] of model.waitingSince) model.waitingSince.set(id, sinceAt + ms);
  shell.clock.setAhead(ms);
};

const prolong = (untils: Map<string, number>, at: number, ms: number): void => {
  for (const [instance, until] of untils) if (until > at) untils.set(instance, until + ms);
};

const meetNeighbour: Action = ({ shell }) => shell.history.addNeighbour(TENANT);

const changeMood: Action = ({ shell }, [to, which]) => {
  shell.receiver.setMood(oneOf(ENDPOINTS, which), oneOf(["fine", "broken", "deaf", "deaf", "gone"], to));
};

export const FAULTS = {
  "lose power for hours": losePower,
  "set the clock back": setClockBack,
  "set the clock ahead": setClockAhead,
  "change the mood of the receiver": changeMood,
  "another tenant has the same ids": meetNeighbour,
  "let time pass": letTimePass,
  "hold the alarm": holdAlarm,
  "let the alarm come": releaseAlarm,
  "alarm out of turn": alarmOutOfTurn,
  "crash the object": crashObject,
  "deploy the object": deploy,
  "replace the object": replaceObject,
  "break a turn": breakTurn("throw"),
  "crash in a turn": breakTurn("crash"),
  "change the weather of history": changeWeather,
  "history answers": historyAnswers,
  "a late batch lands": lateBatchLands,
} satisfies Partial<Record<StepKind, Action>>;
