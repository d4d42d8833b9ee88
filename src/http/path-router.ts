// Finds the handlers for a path. Our paths have one form: literal segments, a `:name` for any one segment, and `*` at
// the end for everything below. Hono has one router that refuses a name beside a literal, and one that collects and
// sorts the handlers on each request; here that is done once for each set of paths that match. Invariant: the handlers
// and their order are those of Hono's own router, up to the first that is not for all below a path: it answers.

import type { Result, Router } from "hono/router";

const ANY_METHOD = "ALL";

interface Route<T> {
  readonly method: string;
  readonly path: string;
  readonly handler: T;
  /** Where the value of each name is in a path's segments. */
  readonly places: Record<string, number>;
}

interface Place {
  readonly literals: Map<string, Place>;
  named: Place | null;
  /** The route's path that ends here. */
  path: string | null;
  /** The route's path that matches here and everywhere below. */
  pathBelow: string | null;
}

const newPlace = (): Place => ({ literals: new Map(), named: null, path: null, pathBelow: null });

const segmentsOf = (path: string): string[] => path.split("/");

const nextPlace = (place: Place, segment: string): Place => {
  if (segment.startsWith(":")) {
    place.named ??= newPlace();
    return place.named;
  }
  const known = place.literals.get(segment) ?? newPlace();
  place.literals.set(segment, known);
  return known;
};

export class PathRouter<T> implements Router<T> {
  readonly name = "PathRouter";
  readonly #routes: Route<T>[] = [];
  readonly #root = newPlace();
  readonly #handlers = new Map<string, [T, Record<string, number>][]>();

  add(method: string, path: string, handler: T): void {
    const segments = segmentsOf(path === "*" ? "/*" : path);
    const isBelow = segments.at(-1) === "*";
    const place = (isBelow ? segments.slice(0, -1) : segments).reduce(nextPlace, this.#root);
    if (isBelow) place.pathBelow = path;
    else place.path = path;
    const names = segments.flatMap((segment, at) => (segment.startsWith(":") ? [[segment.slice(1), at] as const] : []));
    this.#routes.push({ method, path, handler, places: Object.fromEntries(names) });
    this.#handlers.clear();
  }

  match(method: string, path: string): Result<T> {
    const segments = segmentsOf(path);
    const paths: string[] = [];
    collect(this.#root, segments, 0, paths);
    return [this.#handlersOf(method, paths), segments];
  }

  #handlersOf(method: string, paths: readonly string[]): [T, Record<string, number>][] {
    const key = `${method} ${paths.join(" ")}`;
    const known = this.#handlers.get(key);
    if (known !== undefined) return known;
    const all = this.#routes.filter(
      (route) => paths.includes(route.path) && (route.method === method || route.method === ANY_METHOD),
    );
    const last = all.findIndex(({ path }) => !path.endsWith("*"));
    const found = (last < 0 ? all : all.slice(0, last + 1)).map(({ handler, places }): [T, Record<string, number>] => [
      handler,
      places,
    ]);
    this.#handlers.set(key, found);
    return found;
  }
}

/** The paths of routes that match the segments from `at` on. */
const collect = (place: Place, segments: readonly string[], at: number, paths: string[]): void => {
  if (place.pathBelow !== null) paths.push(place.pathBelow);
  const segment = segments[at];
  if (segment === undefined) {
    if (place.path !== null) paths.push(place.path);
    return;
  }
  const literal = place.literals.get(segment);
  if (literal !== undefined) collect(literal, segments, at + 1, paths);
  if (place.named !== null && segment !== "") collect(place.named, segments, at + 1, paths);
};
