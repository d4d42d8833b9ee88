// Navigation. Pages that the user may not open are left out. On a phone four entries are at the bottom, the others behind
// "More".

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../parts/icon.tsx";
import { pagePath, place } from "../router.ts";
import { mayOpen } from "../state/may-open.ts";
import { Account } from "./account.tsx";

interface Destination {
  path: string;
  label: string;
  icon: IconName;
}

const DESTINATIONS: readonly Destination[] = [
  { path: "", label: "Overview", icon: "overview" },
  { path: "jobs", label: "Jobs", icon: "jobs" },
  { path: "fleet", label: "Fleet", icon: "fleet" },
  { path: "explain", label: "Explain", icon: "explain" },
  { path: "batches", label: "Batches", icon: "batches" },
  { path: "models", label: "Models", icon: "models" },
  { path: "playground", label: "Playground", icon: "playground" },
  { path: "schedules", label: "Schedules", icon: "schedules" },
  { path: "catalog", label: "Catalog", icon: "catalog" },
  { path: "cost", label: "Cost", icon: "cost" },
  { path: "settings", label: "Settings", icon: "settings" },
];

const PHONE_PLACES = 4;

const NavLink = ({ path, label, icon, class: extra }: Destination & { class: string }) => {
  const isHere = (place.value.segments[0] ?? "") === path;
  return (
    <li class={extra}>
      <a href={`#/${path}`} aria-current={isHere ? "page" : undefined}>
        <Icon name={icon} />
        {label}
      </a>
    </li>
  );
};

export const destinations = (): readonly Destination[] => DESTINATIONS.filter(({ path }) => mayOpen(path));

export const Nav = () => {
  const [isMoreOpen, setMoreOpen] = useState(false);
  const element = useRef<HTMLElement>(null);
  const offered = destinations();
  const inMore = offered.slice(PHONE_PLACES);
  const isHereInMore = inMore.some(({ path }) => path === place.value.segments[0]);
  const here = pagePath.value;
  // Navigating closes it.
  useEffect(() => setMoreOpen(false), [here]);
  const closeOnEscape = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !isMoreOpen) return;
    setMoreOpen(false);
    element.current?.querySelector<HTMLButtonElement>(".nav-more button")?.focus();
  };
  return (
    <nav ref={element} class={`nav${isMoreOpen ? " nav-open" : ""}`} aria-label="Main" onKeyDown={closeOnEscape}>
      <ul>
        {offered.slice(0, PHONE_PLACES).map((one) => (
          <NavLink key={one.path} {...one} class="nav-first" />
        ))}
        {/* Before what it opens, for who goes on by keyboard. */}
        <li class="nav-more">
          <button
            type="button"
            aria-expanded={isMoreOpen}
            class={isHereInMore ? "here" : ""}
            onClick={() => setMoreOpen(!isMoreOpen)}
          >
            <Icon name="more" />
            More
          </button>
        </li>
        {inMore.map((one) => (
          <NavLink key={one.path} {...one} class="nav-rest" />
        ))}
        <li class="nav-account">
          <Account />
        </li>
      </ul>
    </nav>
  );
};
