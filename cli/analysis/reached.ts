import type { Effect } from "./effects.ts";

/** An effect of one kind. */
export type EffectByKind<Kind extends Effect["kind"]> = Extract<Effect, { readonly kind: Kind }>;

/** The effects of everything that is reachable from a piece of code. */
export class Reached {
  readonly #effects = new Map<Effect["kind"], Effect[]>();

  /** Adds an effect. */
  add(effect: Effect): void {
    const known = this.#effects.get(effect.kind);
    if (known === undefined) this.#effects.set(effect.kind, [effect]);
    else known.push(effect);
  }

  /** Returns the effects of a kind, in the order in which they were found. */
  list<Kind extends Effect["kind"]>(kind: Kind): readonly EffectByKind<Kind>[] {
    return (this.#effects.get(kind) ?? []) as EffectByKind<Kind>[];
  }

  /** Checks whether there is an effect of a kind. */
  has(kind: Effect["kind"]): boolean {
    return this.#effects.has(kind);
  }

  /** Returns the tables that replace those of the auth package, by model. */
  getAuthTables(): Map<string, EffectByKind<"auth-table">[]> {
    const tables = new Map<string, EffectByKind<"auth-table">[]>();
    for (const effect of this.list("auth-table")) {
      tables.set(effect.model, [...tables.get(effect.model) ?? [], effect]);
    }
    return tables;
  }

  /** Returns the columns of auth tables that session checks do not read, as `model.property`. */
  getHiddenFields(): Set<string> {
    return new Set(this.list("auth-hidden").map(({ model, property }) => `${model}.${property}`));
  }

  /** Checks whether a function connects to the database: with a query, for accounts or for jobs. */
  usesDatabase(): boolean {
    return this.has("query") || this.has("auth") || this.has("jobs");
  }
}
