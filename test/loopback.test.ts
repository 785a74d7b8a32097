import { expect, test } from 'vitest';
import { isLoopback } from '../src/loopback.ts';

test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.8.9.10', '::1', '[::1]'])('%s is this machine', host => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['0.0.0.0', '::', '128.0.0.1', '127.0.0.1.example.com', 'localhost.example.com', '127.1', ''])(
  '%s is not this machine',
  host => {
    expect(isLoopback(host)).toBe(false);
  },
);
