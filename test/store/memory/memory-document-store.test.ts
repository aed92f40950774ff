import { MemoryDocumentStore } from '../../../src/store/memory/memory-document-store.ts';
import { newTag } from '../../contract/harness.ts';
import { describeRegistryStore } from '../../contract/document-store.contract.ts';

describeRegistryStore({ open: async () => new MemoryDocumentStore(newTag) });
