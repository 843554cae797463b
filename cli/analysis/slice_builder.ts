import { dirname } from "node:path";
import type { Project } from "./project.ts";
import type { Slice, SliceGuard, SlicePackage, SliceUnit } from "./slice.ts";
import type { SourceModule } from "./source_module.ts";
import { ts } from "./typescript.ts";

interface Unit extends SliceUnit {
  body: string;
}

/** The identity of a unit: its declaration, its module, or a text. */
export type UnitKey = ts.Node | SourceModule | string;

/** A prefix that no source uses. */
const UNIT = "__slice_";

/** The units, guards and packages of a slice, and the code that refers to them. */
export class SliceBuilder {
  readonly #project: Project;
  readonly #units: Unit[] = [];
  readonly #guards: SliceGuard[] = [];
  readonly #packages: SlicePackage[] = [];
  readonly #unitsByKey: Map<UnitKey, number> = new Map();
  readonly #packageIndexes: Map<string, number> = new Map();
  readonly #pending: (() => void)[] = [];

  /** @param project The sources. */
  constructor(project: Project) {
    this.#project = project;
  }

  /**
   * Adds a unit, unless it exists. Its code is written later, not recursively, because chains of
   * declarations may be long.
   *
   * @param key The identity of the unit.
   * @param unit Its description.
   * @returns Its index.
   */
  reserve(key: UnitKey, unit: SliceUnit, write: () => string): number {
    const known = this.#unitsByKey.get(key);
    if (known !== undefined) return known;
    const index = this.#units.push({ ...unit, body: "" }) - 1;
    this.#unitsByKey.set(key, index);
    this.#pending.push(() => this.#units[index].body = write());
    return index;
  }

  /** Writes the code of all units that are reserved, and of those that they need. */
  writeReserved(): void {
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) next();
  }

  /** Returns the code for the value of a unit. */
  call(index: number): string {
    return `${UNIT}${index}()`;
  }

  /** Returns the code that throws an error with a location, once it is evaluated. */
  guard(node: ts.Node, message: string): string {
    return `${UNIT}guard(${
      this.#guards.push({ ...this.#project.getLocation(node), message }) - 1
    })`;
  }

  /** Returns the code for a member of a package; an empty name is the namespace object. */
  callMember(specifier: string, name: string, at: ts.Node): string {
    const from = at.getSourceFile().fileName;
    const key = `${specifier}\0${dirname(from)}`;
    let index = this.#packageIndexes.get(key);
    if (index === undefined) {
      this.#packageIndexes.set(
        key,
        index = this.#packages.push({ ...this.#project.getLocation(at), specifier, from }) - 1,
      );
    }
    const unit = this.reserve(
      `${index}\0${name}`,
      { ...this.#project.getLocation(at), label: name || specifier, exportedAs: name || undefined },
      () => `return ${UNIT}member(${index}, ${JSON.stringify(name)});`,
    );
    return this.call(unit);
  }

  /** Returns the slice. */
  finish(): Slice {
    const lines = this.#units.map(({ body }, index) =>
      `const ${UNIT}${index} = ${UNIT}unit(${index}, () => {\n${body}\n});`
    );
    const getters = this.#units.map((_, index) => `${UNIT}${index}`).join(", ");
    const text = `function ${UNIT}build(${UNIT}unit, ${UNIT}guard, ${UNIT}member) {\n${
      lines.join("\n")
    }\nreturn [${getters}];\n}`;
    const { outputText } = ts.transpileModule(text, {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        isolatedModules: true,
      },
    });
    // from version 6 on, TypeScript begins the text with "use strict"
    const code = `${outputText}\nreturn ${UNIT}build;`;
    return { code, units: this.#units, guards: this.#guards, packages: this.#packages };
  }
}
