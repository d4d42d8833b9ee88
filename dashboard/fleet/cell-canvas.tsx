// A group of workers as one picture: thousands of cells cost one canvas. The picture's text says how many there are and
// in which states; the pointer finds the worker below it, and the table reaches every worker by keyboard.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FleetGridGroup } from "../../contract/fleet/fleet-grid.ts";
import { WORKER_STATES, type WorkerState } from "../../contract/words/values.ts";
import { count, plural } from "../format.ts";
import { CELL_SHAPES, CELL_UNITS } from "../parts/cell-shape.tsx";
import { go, href } from "../router.ts";
import { theme } from "../state/theme.ts";
import { type CellFill, fillOf } from "./cell-fill.ts";

/** From one cell to the next. */
const pitchOf = (size: number): number => size + (size < 8 ? 1 : 2);
const PATHS = new Map(Object.values(CELL_SHAPES).map(({ path }) => [path, new Path2D(path)]));

const inStates = (states: readonly WorkerState[]): string =>
  WORKER_STATES.map((state) => [state, states.filter((one) => one === state).length] as const)
    .filter(([, many]) => many > 0)
    .map(([state, many]) => `${count(many)} ${state}`)
    .join(", ");

const gigabytes = (mb: number): string => (mb / 1024).toFixed(mb < 10_240 ? 1 : 0);

const saysOf = (group: FleetGridGroup, index: number): string => {
  const total = group.gpu_total_mb[index] ?? null;
  const memory =
    total === null ? "" : `, GPU memory ${gigabytes(group.gpu_used_mb[index] ?? 0)} of ${gigabytes(total)} GiB`;
  return `${group.instances[index]}: ${group.states[index]}, ${group.loads[index]} of ${plural(group.places[index] ?? 0, "place")}${memory}`;
};

const draw = (canvas: HTMLCanvasElement, group: FleetGridGroup, across: number, size: number, fill: CellFill): void => {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const style = getComputedStyle(canvas);
  const density = devicePixelRatio;
  canvas.width = across * pitchOf(size) * density;
  canvas.height = Math.ceil(group.states.length / across) * pitchOf(size) * density;
  canvas.style.width = `${across * pitchOf(size)}px`;
  for (const [index, state] of group.states.entries()) {
    const { path, colour, isGauge } = CELL_SHAPES[state];
    const scale = (size / CELL_UNITS) * density;
    const [x, y] = [(index % across) * pitchOf(size) * density, Math.floor(index / across) * pitchOf(size) * density];
    context.setTransform(scale, 0, 0, scale, x, y);
    context.fillStyle = context.strokeStyle = style.getPropertyValue(colour);
    const shape = PATHS.get(path) as Path2D;
    if (isGauge) {
      context.globalAlpha = 0.6;
      context.stroke(shape);
      context.globalAlpha = 1;
      const height = 10 * fillOf(group, index, fill);
      context.fillRect(1, 11 - height, 10, height);
    } else context.fill(shape);
  }
};

export const CellCanvas = ({
  group,
  size,
  fill,
  name,
}: {
  group: FleetGridGroup;
  size: number;
  fill: CellFill;
  name: string;
}) => {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [across, setAcross] = useState(0);
  useLayoutEffect(() => {
    const { current } = box;
    if (current === null) return;
    const measure = (): void => setAcross(Math.max(1, Math.floor(current.clientWidth / pitchOf(size))));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [size]);
  const colours = theme.value;
  useLayoutEffect(() => {
    if (canvas.current !== null && across > 0) draw(canvas.current, group, across, size, fill);
  }, [group, across, size, fill, colours]);
  const indexAt = ({ offsetX, offsetY }: MouseEvent): number =>
    Math.floor(offsetY / pitchOf(size)) * across + Math.min(across - 1, Math.floor(offsetX / pitchOf(size)));
  const onMove = (event: MouseEvent): void => {
    const index = indexAt(event);
    if (canvas.current !== null) canvas.current.title = index < group.instances.length ? saysOf(group, index) : "";
  };
  const onPress = (event: MouseEvent): void => {
    const instance = group.instances[indexAt(event)];
    if (instance !== undefined) go(href(["fleet", instance]));
  };
  return (
    <div ref={box} class="cells">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${name}: ${plural(group.workers, "worker")}: ${inStates(group.states)}`}
        onMouseMove={onMove}
        onClick={onPress}
      />
    </div>
  );
};
