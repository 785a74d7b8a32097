import { SluiceError } from '../../src/errors.ts';
import type { FaultRates, PlannedFault } from '../faults/choose-fault.ts';
import { type Fault, faultKinds } from '../faults/fault-kinds.ts';
import { splitNameValues } from './name-values.ts';

/** Parses `json-500=0.05,hang=0.01`. An error of kind `usage` names what is expected. */
export function parseFaultRates(text: string): FaultRates {
  const rates: Partial<Record<Fault, number>> = {};
  for (const [name, value] of splitNameValues(text)) {
    const fault = parseFault(name);
    if (!/^(0|1|0?\.\d+|1\.0+)$/.test(value)) {
      throw new SluiceError('usage', `Invalid probability "${value}" for fault "${name}".`, {
        next: `Expected: a number from 0 to 1, e.g. ${name}=0.05.`,
      });
    }
    rates[fault] = Number(value);
  }
  const sum = Object.values(rates).reduce((total, rate) => total + rate, 0);
  // A sum of decimals such as 0.1 and 0.2 may exceed the exact value slightly.
  if (sum > 1 + 1e-9) {
    throw new SluiceError('usage', `The fault probabilities add up to ${sum.toFixed(2)}.`, {
      next: 'Expected: a sum of at most 1, because a request has at most one fault.',
    });
  }
  return rates;
}

/** Parses lines of `request-number fault [count] [path]`. Empty lines and lines that start with # are skipped. */
export function parseFaultPlan(text: string): PlannedFault[] {
  return text.split('\n').flatMap((raw, index) => {
    const line = raw.trim();
    return line === '' || line.startsWith('#') ? [] : [parseLine(line, `Line ${index + 1}: `)];
  });
}

const LINE = /^(\S+)(?:\s+(\S+))?(?:\s+(\d\S*))?(?:\s+(\/\S*))?$/;

function parseLine(line: string, place: string): PlannedFault {
  const invalid = (problem: string) =>
    new SluiceError('usage', place + problem, {
      next: 'Expected: at-request fault [count] [path], e.g. 25 json-500 2 /api/v2/invoices',
    });
  const [, at = '', name, count = '1', path = ''] = LINE.exec(line) ?? [];
  if (at === '' || name === undefined) throw invalid(`cannot parse "${line}".`);
  for (const number of [at, count])
    if (!/^[1-9]\d{0,8}$/.test(number)) throw invalid(`"${number}" is not a positive integer.`);
  return { at: Number(at), fault: parseFault(name, place), count: Number(count), path };
}

function parseFault(name: string, place = ''): Fault {
  if (Object.hasOwn(faultKinds, name)) return name as Fault;
  throw new SluiceError('usage', `${place}${place === '' ? 'Unknown' : 'unknown'} fault "${name}".`, {
    next: `Faults: ${Object.keys(faultKinds).join(', ')}.`,
  });
}
