import {
  getPath,
  getRoute,
  isAlbEvent,
  isHttpApiEvent,
  stripStage,
} from "../core/http/api_event.ts";
import { decodePercent } from "../core/http/percent_encoding.ts";
import type { ApiEvent, RestApiEvent } from "../core/http/lambda.ts";
import type { RoutePattern } from "./route_key.ts";
import type { RouteMatch } from "./route_matcher.ts";

/**
 * Returns the path of a request below the base path of a custom domain and the stage of an HTTP API. Gateways leave
 * both in the path of the event; the template of the gateway's own route shows where it begins. The route `$default` has
 * no template: there the name of a stage is the start of the path only at the API's own address.
 *
 * @returns The path, still encoded.
 */
export function getRoutePath(event: ApiEvent): string {
  const path = getPath(event) || "/";
  const template = getRoute(event);
  if (template === undefined) return stripStage(event, path);
  if (template === path) return path;
  const given = path.split("/"), expected = template.split("/");
  const end = given.length - (path.length > 1 && path.endsWith("/") ? 1 : 0);
  const rest = /^\{([^{}+]+)\+\}$/.exec(expected[expected.length - 1])?.[1];
  const restValue = rest && (event as RestApiEvent).pathParameters?.[rest];
  const restCount = restValue ? countSegments(given.slice(1, end), restValue) : 1;
  const extra = end - (expected.length - 1) - restCount;
  return extra <= 0 ? path : `/${given.slice(extra + 1).join("/")}`;
}

/** Counts the segments at the end of a path that are a value, which may contain a decoded slash. */
function countSegments(segments: readonly string[], value: string): number {
  const wanted = value.length - (value.endsWith("/") ? 1 : 0);
  let raw = -1, decoded = -1;
  for (let count = 1; count <= segments.length; count++) {
    const segment = segments[segments.length - count];
    raw += segment.length + 1;
    decoded += decodePercent(segment).length + 1;
    if (raw === wanted || decoded === wanted) return count;
  }
  return value.split("/").length;
}

/**
 * Returns the event as a gateway would send it that has the route itself: with the route's template and the values of
 * its parameters.
 *
 * @param event The event.
 * @param match The route, and the values of its parameters.
 * @returns The same event if the gateway has the route.
 */
export function toRoutedEvent(
  event: ApiEvent,
  { route, parameters }: RouteMatch<RoutePattern>,
): ApiEvent {
  if (getRoute(event) === route.path && hasParameters(event, parameters)) return event;
  if (isHttpApiEvent(event)) {
    return { ...event, routeKey: route.key, pathParameters: parameters };
  }
  if (isAlbEvent(event)) return Object.assign({ ...event }, { pathParameters: parameters });
  return { ...event, resource: route.path, pathParameters: parameters };
}

function hasParameters(event: ApiEvent, parameters: object | null): boolean {
  const given = (event as RestApiEvent).pathParameters;
  return parameters === null || (given !== null && given !== undefined);
}
