import { type Expression, expression } from "./hcl.ts";
import type { InfraFunction, Problem } from "./infra_plan.ts";
import { getRouteShape } from "../discovery/route_files.ts";
import { getIdentifiers } from "./names.ts";

/** A path segment, which becomes an API Gateway resource. */
interface PathPart {
  /** `/notes/{noteId}` */
  readonly path: string;
  readonly parent: string;
  /** `{noteId}` */
  readonly part: string;
}

/** The paths of an API, each once. */
export interface GatewayPaths {
  /** Parents before children. */
  readonly parts: readonly PathPart[];
  /** Resource ids by path, including the root. */
  readonly ids: ReadonlyMap<string, Expression>;
  /** Terraform names of the resources, by path. */
  readonly names: ReadonlyMap<string, string>;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/**
 * Maximum number of resources of a REST API, including the root, and of routes of an HTTP API (API
 * Gateway quotas; can be raised).
 */
const MAX_RESOURCES = 300;

/** Valid fixed path segments (API Gateway, CreateResource, `pathPart`). */
const FIXED_PART = /^[A-Za-z0-9._:~$-]+$/;

/**
 * Builds the tree of API Gateway resources from the routes.
 *
 * @param isHttp True for an HTTP API, where paths are no resources.
 * @returns The paths, and errors that API Gateway would report.
 */
export function planPaths(functions: readonly InfraFunction[], isHttp = false): GatewayPaths {
  const parts = new Map<string, PathPart & { readonly owner: string }>();
  const parameters = new Map<string, { readonly part: string; readonly owner: string }>();
  const errors: Problem[] = findDuplicates(functions);
  for (const { name, path = "/" } of functions) {
    const segments = path.split("/").filter(Boolean);
    let parent = "";
    segments.forEach((part, index) => {
      const whole = `${parent}/${part}`;
      if (part.startsWith("{")) {
        const other = parameters.get(parent);
        if (!isHttp && other !== undefined && other.part !== part) {
          errors.push({
            functionName: name,
            message: `${name} uses ${part} where ${other.owner} uses ` +
              `${other.part} at the same position of the path: ` +
              "API Gateway requires the same parameter name. Rename one of them",
          });
        }
        parameters.set(parent, other ?? { part, owner: name });
        if (part.endsWith("+}") && index < segments.length - 1) {
          errors.push({
            functionName: name,
            message: `${name} has ${part} before other path segments: it must be the last one`,
          });
        }
      } else if (!FIXED_PART.test(part)) {
        errors.push({
          functionName: name,
          message: `${name} has "${part}" in its path: API Gateway only accepts ` +
            `letters, digits and . _ : ~ $ -. Rename the file`,
        });
      }
      if (!parts.has(whole)) parts.set(whole, { path: whole, parent, part, owner: name });
      parent = whole;
    });
  }
  const sorted = [...parts.values()].sort((a, b) => a.path < b.path ? -1 : 1);
  const names = getIdentifiers(sorted.map(({ path }) => path));
  const ids = new Map([["", expression("module.api.rest_api_root_resource_id")]]);
  for (const [path, name] of names) {
    ids.set(path, expression(`aws_api_gateway_resource.${name}.id`));
  }
  const [count, what] = isHttp ? [functions.length, "routes"] : [ids.size, "resources"];
  const warnings = count <= MAX_RESOURCES ? [] : [{
    message: `the API has ${count} ${what}, but the default quota of AWS is ${MAX_RESOURCES}`,
  }];
  return { parts: sorted, ids, names, errors, warnings };
}

/** Finds routes that two functions serve, such as a router and a file. */
function findDuplicates(functions: readonly InfraFunction[]): Problem[] {
  const seen = new Map<string, InfraFunction>();
  return functions.flatMap((fn): Problem[] => {
    const shape = getRouteShape(fn);
    const other = seen.get(shape);
    seen.set(shape, other ?? fn);
    return other === undefined ? [] : [{
      functionName: fn.name,
      message: `${fn.method} ${fn.path} is in ${other.source} too: remove one of the routes`,
    }];
  });
}
