import type { Body } from './test-client.ts';

/** What says nothing about a value. */
const SILENT = ['description', 'default', 'x-undocumented', 'propertyNames'];

/**
 * Where a value is not as a schema of the description says, in words; empty when it is. Stricter than JSON Schema: a field
 * that is not described is a mismatch too, and so is a keyword that is not known here.
 */
export function mismatches(description: Body, schema: Body, value: Body, at = 'body'): string[] {
  const found: string[] = [];
  for (const [keyword, said] of Object.entries<Body>(schema)) {
    const rule = rules[keyword];
    if (rule !== undefined) found.push(...rule({ description, schema, said, value, at }));
    else if (!SILENT.includes(keyword)) found.push(`${at}: the keyword ${keyword} is not known`);
  }
  return found;
}

interface Question {
  description: Body;
  schema: Body;
  said: Body;
  value: Body;
  at: string;
}

const isObject = (value: Body) => typeof value === 'object' && value !== null && !Array.isArray(value);
const wrong = (right: boolean, { at, value, said }: Question, keyword: string) =>
  right ? [] : [`${at}: ${JSON.stringify(value)} is not ${keyword} ${JSON.stringify(said)}`];

const types: Record<string, (value: Body) => boolean> = {
  object: isObject,
  array: Array.isArray,
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: Number.isInteger,
  boolean: value => typeof value === 'boolean',
  null: value => value === null,
};

const formats: Record<string, RegExp> = {
  date: /^\d{4}-\d\d-\d\d$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  email: /^\S+@\S+$/,
  uri: /^https?:\/\/\S+$/,
};

const rules: Record<string, (question: Question) => string[]> = {
  $ref: ({ description, said, value, at }) => mismatches(description, resolve(description, said), value, at),
  type: question =>
    wrong(
      [question.said].flat().some(type => types[type]?.(question.value)),
      question,
      'of type',
    ),
  const: question => wrong(question.value === question.said, question, 'the constant'),
  enum: question => wrong(question.said.includes(question.value), question, 'one of'),
  anyOf: question =>
    wrong(
      question.said.some((each: Body) => mismatches(question.description, each, question.value).length === 0),
      question,
      'any of',
    ),
  format: question =>
    wrong(typeof question.value !== 'string' || formats[question.said]?.test(question.value) === true, question, 'a'),
  minimum: question => wrong(!(question.value < question.said), question, 'at least'),
  maximum: question => wrong(!(question.value > question.said), question, 'at most'),
  exclusiveMinimum: question => wrong(!(question.value <= question.said), question, 'above'),
  minLength: question => wrong(!(question.value?.length < question.said), question, 'as long as'),
  minItems: question => wrong(!(question.value?.length < question.said), question, 'as many as'),
  required: ({ said, value, at }) =>
    isObject(value) ? said.flatMap((name: string) => (name in value ? [] : [`${at}.${name} is missing`])) : [],
  items: ({ description, said, value, at }) =>
    Array.isArray(value) ? value.flatMap((each, index) => mismatches(description, said, each, `${at}[${index}]`)) : [],
  properties: ({ description, schema, said, value, at }) =>
    Object.entries(isObject(value) ? value : {}).flatMap(([name, content]) => {
      if (name in said) return mismatches(description, said[name], content, `${at}.${name}`);
      return schema.additionalProperties === undefined ? [`${at}.${name} is not described`] : [];
    }),
  additionalProperties: ({ description, schema, said, value, at }) =>
    Object.entries(isObject(value) ? value : {})
      .filter(([name]) => !(name in (schema.properties ?? {})))
      .flatMap(([name, content]) => mismatches(description, said, content, `${at}.${name}`)),
};

/** What a reference inside the description leads to. */
export function resolve(description: Body, reference: string): Body {
  return reference
    .slice(2)
    .split('/')
    .reduce((place, name) => place[name], description);
}
