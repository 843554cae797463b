import { referenced, writeColumn } from "./create_statements.ts";
import {
  type Draft,
  id,
  type Maker,
  type Model,
  type ModelColumn,
  type ModelTable,
  newName,
  path,
} from "./model.ts";
import { castLiteral, getChanges, isKeyable, writeType } from "./values.ts";

/** A draft about one of the tables. */
function onTable(
  draft: (model: Model, table: ModelTable) => { action: string; apply?(): void } | undefined,
): Maker {
  return (model) => {
    if (model.tables.length === 0) return undefined;
    const table = model.random.pick(model.tables);
    const made = draft(model, table);
    if (made === undefined) return undefined;
    const head = `ALTER TABLE ${model.random.chance(0.05) ? "IF EXISTS " : ""}${
      path(model, table.name)
    }`;
    return { sql: `${head} ${made.action}`, apply: made.apply };
  };
}

/** A draft about one of the columns of a table. */
function onColumn(
  draft: (
    model: Model,
    table: ModelTable,
    column: ModelColumn,
  ) => { action: string; apply?(): void } | undefined,
): Maker {
  return onTable((model, table) => draft(model, table, model.random.pick(table.columns)));
}

function column(model: Model, { name }: ModelColumn): string {
  return `${model.random.chance(0.8) ? "COLUMN " : ""}${id(model, name)}`;
}

const addColumn = onTable((model, table) => {
  const columns = Array.from(
    { length: model.random.chance(0.15) ? 2 : 1 },
    () => writeColumn(model, false),
  );
  const word = model.random.chance(0.9) ? "ADD COLUMN" : "ADD COLUMN IF NOT EXISTS";
  return {
    action: columns.map(({ sql }) => `${word} ${sql}`).join(", "),
    apply: () => table.columns.push(...columns.map(({ sql: _, ...column }) => column)),
  };
});

const addReference = onTable((model, table) => {
  const targets = model.tables.filter(({ key }) => key.length === 1);
  if (targets.length === 0) return undefined;
  const target = model.random.pick(targets);
  const { type } = target.columns.find(({ name }) => name === target.key[0])!;
  const name = newName(model, "ref_");
  const action = model.random.pick([
    "",
    " ON DELETE CASCADE",
    " ON DELETE SET NULL ON UPDATE CASCADE",
  ]);
  return {
    action: `ADD COLUMN ${id(model, name)} ${type} REFERENCES ${path(model, target.name)} (${
      id(model, target.key[0])
    })${action}`,
    apply: () => table.columns.push({ name, type, needsValue: false, isComputed: false }),
  };
});

const dropColumn = onColumn((model, table, found) => {
  if (table.columns.length < 3) return undefined;
  const tail = model.random.chance(0.15) ? " CASCADE" : "";
  return {
    action: `DROP COLUMN ${model.random.chance(0.2) ? "IF EXISTS " : ""}${
      id(model, found.name)
    }${tail}`,
    apply(): void {
      table.columns = table.columns.filter((one) => one !== found);
      table.key = table.key.includes(found.name) ? [] : table.key;
    },
  };
});

const renameColumn = onColumn((model, table, found) => {
  const name = newName(model);
  return {
    action: `RENAME ${column(model, found)} TO ${id(model, name)}`,
    apply(): void {
      table.key = table.key.map((one) => one === found.name ? name : one);
      found.name = name;
    },
  };
});

const renameTable = onTable((model, table) => {
  const name = newName(model);
  return {
    action: `RENAME TO ${id(model, name)}`,
    apply(): void {
      for (const view of model.views) if (view.table === table.name) view.table = name;
      table.name = name;
    },
  };
});

const changeType = onColumn((model, _table, found) => {
  const { type, using } = model.random.pick(getChanges(model, found.type));
  const words = model.random.pick(["TYPE", "SET DATA TYPE"]);
  const how = using === undefined ? "" : ` USING ${using(id(model, found.name))}`;
  return {
    action: `ALTER ${column(model, found)} ${words} ${writeType(model, type)}${how}`,
    apply: () => void (found.type = type),
  };
});

const setDefault = onColumn((model, _table, found) => ({
  action: model.random.chance(0.6)
    ? `ALTER ${column(model, found)} SET DEFAULT ${
      castLiteral(model, found.type, 1 + model.random.below(9))
    }`
    : `ALTER ${column(model, found)} DROP DEFAULT`,
}));

const setNotNull = onColumn((model, _table, found) => {
  const isSet = model.random.chance(0.6);
  return {
    action: `ALTER ${column(model, found)} ${isSet ? "SET" : "DROP"} NOT NULL`,
    apply: () => void (found.needsValue = isSet && !found.isComputed),
  };
});

const addUnique = onTable((model, table) => {
  const keyable = table.columns.filter(({ type }) => isKeyable(type) || model.random.chance(0.05));
  if (keyable.length === 0) return undefined;
  const columns = model.random.some(keyable, 2).map(({ name }) => id(model, name)).join(", ");
  const name = model.random.chance(0.8) ? newName(model, "uq_") : undefined;
  return {
    action: `ADD ${name === undefined ? "" : `CONSTRAINT ${id(model, name)} `}UNIQUE (${columns})`,
    apply: () => void (name !== undefined && table.constraints.push({ name, kind: "unique" })),
  };
});

const addCheck = onTable((model, table) => {
  const numbers = table.columns.filter(({ type }) =>
    ["int", "bigint", "numeric(12, 2)"].includes(type)
  );
  if (numbers.length === 0) return undefined;
  const name = newName(model, "ck_");
  return {
    action: `ADD CONSTRAINT ${id(model, name)} CHECK (${
      id(model, model.random.pick(numbers).name)
    } > -5)`,
    apply: () => void table.constraints.push({ name, kind: "check" }),
  };
});

const addForeignKey: Maker = (model) => {
  const made = addForeignKeyTo(model);
  if (made === undefined || !model.random.chance(0.3)) return made;
  return {
    ...made,
    sql: `DO $$ BEGIN\n ${made.sql};\nEXCEPTION\n WHEN duplicate_object THEN null;\nEND $$`,
  };
};

const addForeignKeyTo = onTable((model, table) => {
  const target = referenced(model, table);
  if (target === undefined) return undefined;
  const name = newName(model, "fk_");
  const action = model.random.pick([
    "",
    " ON DELETE cascade ON UPDATE no action",
    " ON DELETE SET NULL",
  ]);
  return {
    action: `ADD CONSTRAINT ${id(model, name)} FOREIGN KEY (${
      id(model, target.column)
    }) REFERENCES ${target.sql}${action}`,
    apply: () => void table.constraints.push({ name, kind: "foreign_key" }),
  };
});

const addPrimaryKey = onTable((model, table) => {
  const keyable = table.columns.filter(({ type }) => isKeyable(type));
  if (table.key.length > 0 || keyable.length === 0) return undefined;
  const name = newName(model, "pk_");
  const found = model.random.pick(keyable);
  return {
    action: `ADD CONSTRAINT ${id(model, name)} PRIMARY KEY (${id(model, found.name)})`,
    apply(): void {
      table.key = [found.name];
      table.constraints.push({ name, kind: "primary_key" });
    },
  };
});

const dropConstraint = onTable((model, table) => {
  const few = table.constraints.filter(({ kind }) =>
    kind !== "primary_key" || model.random.chance(0.15)
  );
  if (few.length === 0) return undefined;
  const found = model.random.pick(few);
  return {
    action: `DROP CONSTRAINT ${model.random.chance(0.2) ? "IF EXISTS " : ""}${
      id(model, found.name)
    }`,
    apply(): void {
      table.constraints = table.constraints.filter((one) => one !== found);
      if (found.kind === "primary_key") table.key = [];
    },
  };
});

const renameConstraint = onTable((model, table) => {
  if (table.constraints.length === 0) return undefined;
  const found = model.random.pick(table.constraints);
  const name = newName(model, "renamed_");
  return {
    action: `RENAME CONSTRAINT ${id(model, found.name)} TO ${id(model, name)}`,
    apply: () => void (found.name = name),
  };
});

const changeIdentity = onColumn((model, _table, found) => ({
  action: `ALTER ${column(model, found)} ${
    model.random.pick([
      "ADD GENERATED BY DEFAULT AS IDENTITY",
      "DROP IDENTITY IF EXISTS",
      "DROP EXPRESSION IF EXISTS",
    ])
  }`,
}));

/** Several actions in one statement. */
const several: Maker = (model) => {
  if (model.tables.length === 0) return undefined;
  const whole = [...model.tables];
  const table = model.random.pick(whole);
  const drafts: Draft[] = [];
  model.tables = [table];
  try {
    for (const maker of [model.random.pick(SIMPLE), model.random.pick(SIMPLE)]) {
      const draft = maker(model);
      if (draft === undefined) return undefined;
      drafts.push(draft);
    }
  } finally {
    model.tables = whole;
  }
  const actions = drafts.map(({ sql }) =>
    sql.replace(/^ALTER TABLE (?:IF EXISTS )?(?:"[^"]*"|[^\s"])+ /, "")
  );
  return {
    sql: `ALTER TABLE ${path(model, table.name)} ${actions.join(",\n  ")}`,
    apply: () => drafts.forEach(({ apply }) => apply?.()),
  };
};

const SIMPLE: readonly Maker[] = [
  addColumn,
  dropColumn,
  changeType,
  setDefault,
  setNotNull,
  addUnique,
  addCheck,
  dropConstraint,
];

const changeEnum: Maker = (model) => {
  const { random, enums } = model;
  if (enums.length === 0) return undefined;
  const found = random.pick(enums);
  const name = path(model, found.name);
  const label = `label ${++model.count}`;
  const place = random.pick(["", "", ` BEFORE '${found.labels[0].replaceAll("'", "''")}'`]);
  switch (random.below(4)) {
    case 0:
      return {
        sql: `ALTER TYPE ${name} RENAME VALUE '${
          found.labels[0].replaceAll("'", "''")
        }' TO '${label}'`,
        apply: () => void (found.labels[0] = label),
      };
    case 1: {
      const next = newName(model, "kind_");
      return {
        sql: `ALTER TYPE ${name} RENAME TO ${id(model, next)}`,
        apply(): void {
          for (const table of model.tables) {
            for (const one of table.columns) one.type = one.type === found.name ? next : one.type;
          }
          for (const one of model.domains) one.base = one.base === found.name ? next : one.base;
          found.name = next;
        },
      };
    }
    default:
      return {
        sql: `ALTER TYPE ${name} ADD VALUE ${
          random.chance(0.3) ? "IF NOT EXISTS " : ""
        }'${label}'${place}`,
        apply: () => void (place === "" ? found.labels.push(label) : found.labels.unshift(label)),
      };
  }
};

const changeDomain: Maker = (model) => {
  if (model.domains.length === 0) return undefined;
  const found = model.random.pick(model.domains);
  const name = path(model, found.name);
  return {
    sql: `ALTER DOMAIN ${name} ${
      model.random.pick([
        `SET DEFAULT ${castLiteral(model, found.base, 3)}`,
        "DROP DEFAULT",
        `ADD CONSTRAINT ${id(model, newName(model, "dc_"))} CHECK (VALUE IS NOT NULL)`,
        "DROP NOT NULL",
      ])
    }`,
  };
};

const changeSequence: Maker = (model) => {
  const { random, sequences, tables } = model;
  if (sequences.length === 0) return undefined;
  const name = random.pick(sequences);
  const table = tables.length > 0 ? random.pick(tables) : undefined;
  const owner = table &&
    `OWNED BY ${path(model, table.name)}.${id(model, random.pick(table.columns).name)}`;
  return {
    sql: random.chance(0.2)
      ? `SELECT setval('${model.isQuoted ? `"${name}"` : id(model, name)}', ${
        10 + random.below(20)
      })`
      : `ALTER SEQUENCE ${path(model, name)} ${
        random.pick([
          "RESTART WITH 100",
          "INCREMENT BY 3",
          "CACHE 10",
          "AS int",
          owner ?? "NO CYCLE",
        ])
      }`,
  };
};

const useSequence = onColumn((model, _table, found) => {
  if (model.sequences.length === 0 || !["int", "bigint", "integer"].includes(found.type)) {
    return undefined;
  }
  const name = id(model, model.random.pick(model.sequences));
  const cast = model.random.chance(0.5) ? "::regclass" : "";
  return { action: `ALTER ${column(model, found)} SET DEFAULT nextval('${name}'${cast})` };
});

const drop: Maker = (model) => {
  const { random } = model;
  const cascade = random.chance(0.2) ? " CASCADE" : "";
  const exists = random.chance(0.3) ? "IF EXISTS " : "";
  const one = <T extends { name: string } | string>(kind: string, list: T[]): Draft | undefined => {
    if (list.length === 0) return undefined;
    const found = random.pick(list);
    const name = typeof found === "string" ? found : found.name;
    return {
      sql: `DROP ${kind} ${exists}${path(model, name)}${cascade}`,
      apply: () => void list.splice(list.indexOf(found), 1),
    };
  };
  switch (random.below(8)) {
    case 0:
      return one("TABLE", model.tables);
    case 1:
    case 2:
      return one("VIEW", model.views);
    case 3:
      return one("SEQUENCE", model.sequences);
    case 4:
      return one("TYPE", model.enums);
    case 5:
      return one("DOMAIN", model.domains);
    case 6:
      return one("FUNCTION", model.functions);
    default:
      return one("INDEX", model.indexes);
  }
};

const comment: Maker = (model) => {
  if (model.tables.length === 0) return undefined;
  const table = model.random.pick(model.tables);
  const target = path(model, table.name);
  return {
    sql: model.random.chance(0.5)
      ? `COMMENT ON TABLE ${target} IS 'it''s a table; really'`
      : `COMMENT ON COLUMN ${target}.${
        id(model, model.random.pick(table.columns).name)
      } IS $c$ a ; comment $c$`,
  };
};

/** Statements that change what is there, as often as they are listed. */
export const CHANGES: readonly Maker[] = [
  ...[
    addColumn,
    addColumn,
    addColumn,
    addColumn,
    addReference,
    dropColumn,
    dropColumn,
    renameColumn,
    renameTable,
  ],
  ...[
    changeType,
    changeType,
    setDefault,
    setDefault,
    setNotNull,
    setNotNull,
    addUnique,
    addCheck,
    addForeignKey,
  ],
  ...[
    addForeignKey,
    addPrimaryKey,
    dropConstraint,
    dropConstraint,
    renameConstraint,
    changeIdentity,
    several,
    several,
  ],
  ...[
    changeEnum,
    changeEnum,
    changeEnum,
    changeDomain,
    changeSequence,
    useSequence,
    drop,
    drop,
    drop,
    comment,
  ],
];
