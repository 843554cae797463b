import { summarizeList } from "../terminal/generated_report.ts";
import { type Expression, expression } from "./hcl.ts";
import type { TerraformVariable } from "./infra_plan.ts";

/** A Terraform variable and the functions that read it. */
interface WantedVariable {
  readonly isSecret: boolean;
  readonly default?: string;
  readonly users: readonly string[];
}

/** A request for a Terraform variable. */
export interface VariableRequest {
  /** The environment variable. */
  readonly name: string;
  /** The function that reads it. */
  readonly user: string;
  readonly isSecret: boolean;
  readonly default?: string;
}

/** The Terraform variables that set environment variables. */
export interface WantedVariables {
  /** Adds a variable, or a function to its readers. */
  add(request: VariableRequest): Expression;
  list(): TerraformVariable[];
}

/**
 * Collects Terraform variables, each once.
 *
 * @param names Names of the Terraform variables, by environment variable.
 */
export function collectVariables(names: ReadonlyMap<string, string>): WantedVariables {
  const wanted = new Map<string, WantedVariable>();
  return {
    add({ name, user, isSecret, default: fallback }) {
      const known = wanted.get(name);
      wanted.set(name, {
        isSecret: isSecret || known?.isSecret === true,
        default: fallback ?? known?.default,
        users: [...known?.users ?? [], user],
      });
      return expression(`var.${names.get(name)}`);
    },
    list: () =>
      [...wanted].map(([name, variable]) => ({
        name: names.get(name)!,
        description: `${name} of ${summarizeList([...variable.users].sort(), MANY)}.`,
        type: "string",
        default: variable.default,
        isSensitive: variable.isSecret,
      })),
  };
}

/** Functions that the description of a variable names. */
const MANY = 3;
