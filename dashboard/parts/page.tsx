// The frame of every page: a heading that gets the focus after navigation, its actions, and empty states.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "./problem.tsx";

interface PageProps {
  title: string;
  /** Which of several pages with this title, for the name of the browser's tab. */
  tab?: string | undefined;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  back?: { label: string; href: string };
  children: ComponentChildren;
}

let isFirstPage = true;

/** What is read by then appears together; what comes later finds the rest in its place. */
const FRESH_MS = 1000;

const useIsFresh = (): boolean => {
  const [isFresh, setFresh] = useState(true);
  useEffect(() => {
    const timer = setTimeout(() => setFresh(false), FRESH_MS);
    return () => clearTimeout(timer);
  }, []);
  return isFresh;
};

export const Page = ({ title, tab, lead, actions, back, children }: PageProps) => {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = [tab, title, "Signalbox"].filter(Boolean).join(" · ");
    // Focus moves to the new page's heading, but not on the first page.
    if (!isFirstPage) heading.current?.focus({ preventScroll: true });
    isFirstPage = false;
  }, [title]);
  return (
    <div class={useIsFresh() ? "page page-fresh" : "page"}>
      <header class="page-head">
        <div class="page-title">
          {back !== undefined && (
            <a class="back" href={back.href}>
              {back.label}
            </a>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead !== undefined && <div class="page-lead">{lead}</div>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
};

export const Panel = ({
  title,
  aside,
  children,
  class: extra = "",
}: {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) => (
  <section class={`panel ${extra}`}>
    {(title !== undefined || aside !== undefined) && (
      <header class="panel-head">
        <h2>{title}</h2>
        {aside}
      </header>
    )}
    {children}
  </section>
);

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children !== undefined && <div class="empty-next">{children}</div>}
  </div>
);

export const Loading = ({ what }: { what: string }) => (
  <p class="loading" role="status">
    Reading {what} …
  </p>
);

interface LoadStateProps {
  data: unknown;
  error: Error | null;
  retry: () => void;
  what: string;
}

/** Why data is not there yet, or is not read again. */
export const LoadState = ({ data, error, retry, what }: LoadStateProps) =>
  data === null && error === null ? <Loading what={what} /> : <Problem error={error} retry={retry} />;
