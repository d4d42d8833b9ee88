// A worker's load: a section per place, lit if a job uses it.

import { count } from "../../format.ts";

const MAX_SECTIONS = 10;

export const LoadBar = ({ load, concurrency }: { load: number; concurrency: number }) => {
  const sections = Math.min(concurrency, MAX_SECTIONS);
  const lit = concurrency === 0 ? 0 : Math.ceil((load / concurrency) * sections - 1e-9);
  return (
    <span class="load" title={`${count(load)} of ${count(concurrency)} places in use`}>
      <span class={`load-track${load >= concurrency && concurrency > 0 ? " load-full" : ""}`} aria-hidden="true">
        {Array.from({ length: sections }, (_, index) => (
          <span key={index} class={index < lit ? "lit" : ""} />
        ))}
      </span>
      <span class="num">
        {count(load)}/{count(concurrency)}
      </span>
    </span>
  );
};
