// The icons, drawn on a 20 by 20 grid in the colour of the text.

const PATHS = {
  overview: "M2 15h4l4-10h4l4 0M14 5v0M10 15h8",
  jobs: "M3 5h14M3 10h14M3 15h9",
  batches: "M6 3h11v9H6zM3 7v10h11M9 6h5M9 9h5",
  fleet: "M3 4h14v5H3zM3 12h14v5H3zM6 6.5h.01M6 14.5h.01",
  models: "M10 2.500 17 6v8l-7 3.500L3 14V6zM3 6l7 3.500L17 6M10 9.500v8",
  playground: "M3 4h14v9H9l-4 4v-4H3zM7 8.500h6",
  explain: "M4 16V9M8 16V4M12 16v-5M16 16V7",
  schedules: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14M10 6v4l3 2",
  catalog: "M4 3h9l3 3v11H4zM7 8h6M7 11h6M7 14h4",
  cost: "M10 2v16M14 5.5C13 4 7 3.500 6.500 7 6 10.500 14 9 13.700 13 13.300 16.700 7 16 6 14",
  settings: "M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4",
  more: "M4 10h.01M10 10h.01M16 10h.01",
  close: "m5 5 10 10M15 5 5 15",
  search: "M8.500 3a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11M12.500 12.500 17 17",
  lever: "M4 17h12M10 17V9M10 9l4-6M12.500 2.200l2.800 1.800",
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
