var e=globalThis,t=e.ShadowRoot&&(e.ShadyCSS===void 0||e.ShadyCSS.nativeShadow)&&`adoptedStyleSheets`in Document.prototype&&`replace`in CSSStyleSheet.prototype,n=Symbol(),r=new WeakMap,i=class{constructor(e,t,r){if(this._$cssResult$=!0,r!==n)throw Error("CSSResult is not constructable. Use `unsafeCSS` or `css` instead.");this.cssText=e,this.t=t}get styleSheet(){let e=this.o,n=this.t;if(t&&e===void 0){let t=n!==void 0&&n.length===1;t&&(e=r.get(n)),e===void 0&&((this.o=e=new CSSStyleSheet).replaceSync(this.cssText),t&&r.set(n,e))}return e}toString(){return this.cssText}},a=e=>new i(typeof e==`string`?e:e+``,void 0,n),o=(e,...t)=>new i(e.length===1?e[0]:t.reduce((t,n,r)=>t+(e=>{if(!0===e._$cssResult$)return e.cssText;if(typeof e==`number`)return e;throw Error(`Value passed to 'css' function must be a 'css' function result: `+e+`. Use 'unsafeCSS' to pass non-literal values, but take care to ensure page security.`)})(n)+e[r+1],e[0]),e,n),s=(n,r)=>{if(t)n.adoptedStyleSheets=r.map(e=>e instanceof CSSStyleSheet?e:e.styleSheet);else for(let t of r){let r=document.createElement(`style`),i=e.litNonce;i!==void 0&&r.setAttribute(`nonce`,i),r.textContent=t.cssText,n.appendChild(r)}},c=t?e=>e:e=>e instanceof CSSStyleSheet?(e=>{let t=``;for(let n of e.cssRules)t+=n.cssText;return a(t)})(e):e,{is:l,defineProperty:u,getOwnPropertyDescriptor:ee,getOwnPropertyNames:te,getOwnPropertySymbols:ne,getPrototypeOf:re}=Object,ie=globalThis,ae=ie.trustedTypes,oe=ae?ae.emptyScript:``,se=ie.reactiveElementPolyfillSupport,ce=(e,t)=>e,le={toAttribute(e,t){switch(t){case Boolean:e=e?oe:null;break;case Object:case Array:e=e==null?e:JSON.stringify(e)}return e},fromAttribute(e,t){let n=e;switch(t){case Boolean:n=e!==null;break;case Number:n=e===null?null:Number(e);break;case Object:case Array:try{n=JSON.parse(e)}catch{n=null}}return n}},ue=(e,t)=>!l(e,t),de={attribute:!0,type:String,converter:le,reflect:!1,useDefault:!1,hasChanged:ue};Symbol.metadata??=Symbol(`metadata`),ie.litPropertyMetadata??=new WeakMap;var d=class extends HTMLElement{static addInitializer(e){this._$Ei(),(this.l??=[]).push(e)}static get observedAttributes(){return this.finalize(),this._$Eh&&[...this._$Eh.keys()]}static createProperty(e,t=de){if(t.state&&(t.attribute=!1),this._$Ei(),this.prototype.hasOwnProperty(e)&&((t=Object.create(t)).wrapped=!0),this.elementProperties.set(e,t),!t.noAccessor){let n=Symbol(),r=this.getPropertyDescriptor(e,n,t);r!==void 0&&u(this.prototype,e,r)}}static getPropertyDescriptor(e,t,n){let{get:r,set:i}=ee(this.prototype,e)??{get(){return this[t]},set(e){this[t]=e}};return{get:r,set(t){let a=r?.call(this);i?.call(this,t),this.requestUpdate(e,a,n)},configurable:!0,enumerable:!0}}static getPropertyOptions(e){return this.elementProperties.get(e)??de}static _$Ei(){if(this.hasOwnProperty(ce(`elementProperties`)))return;let e=re(this);e.finalize(),e.l!==void 0&&(this.l=[...e.l]),this.elementProperties=new Map(e.elementProperties)}static finalize(){if(this.hasOwnProperty(ce(`finalized`)))return;if(this.finalized=!0,this._$Ei(),this.hasOwnProperty(ce(`properties`))){let e=this.properties,t=[...te(e),...ne(e)];for(let n of t)this.createProperty(n,e[n])}let e=this[Symbol.metadata];if(e!==null){let t=litPropertyMetadata.get(e);if(t!==void 0)for(let[e,n]of t)this.elementProperties.set(e,n)}this._$Eh=new Map;for(let[e,t]of this.elementProperties){let n=this._$Eu(e,t);n!==void 0&&this._$Eh.set(n,e)}this.elementStyles=this.finalizeStyles(this.styles)}static finalizeStyles(e){let t=[];if(Array.isArray(e)){let n=new Set(e.flat(1/0).reverse());for(let e of n)t.unshift(c(e))}else e!==void 0&&t.push(c(e));return t}static _$Eu(e,t){let n=t.attribute;return!1===n?void 0:typeof n==`string`?n:typeof e==`string`?e.toLowerCase():void 0}constructor(){super(),this._$Ep=void 0,this.isUpdatePending=!1,this.hasUpdated=!1,this._$Em=null,this._$Ev()}_$Ev(){this._$ES=new Promise(e=>this.enableUpdating=e),this._$AL=new Map,this._$E_(),this.requestUpdate(),this.constructor.l?.forEach(e=>e(this))}addController(e){(this._$EO??=new Set).add(e),this.renderRoot!==void 0&&this.isConnected&&e.hostConnected?.()}removeController(e){this._$EO?.delete(e)}_$E_(){let e=new Map,t=this.constructor.elementProperties;for(let n of t.keys())this.hasOwnProperty(n)&&(e.set(n,this[n]),delete this[n]);e.size>0&&(this._$Ep=e)}createRenderRoot(){let e=this.shadowRoot??this.attachShadow(this.constructor.shadowRootOptions);return s(e,this.constructor.elementStyles),e}connectedCallback(){this.renderRoot??=this.createRenderRoot(),this.enableUpdating(!0),this._$EO?.forEach(e=>e.hostConnected?.())}enableUpdating(e){}disconnectedCallback(){this._$EO?.forEach(e=>e.hostDisconnected?.())}attributeChangedCallback(e,t,n){this._$AK(e,n)}_$ET(e,t){let n=this.constructor.elementProperties.get(e),r=this.constructor._$Eu(e,n);if(r!==void 0&&!0===n.reflect){let i=(n.converter?.toAttribute===void 0?le:n.converter).toAttribute(t,n.type);this._$Em=e,i==null?this.removeAttribute(r):this.setAttribute(r,i),this._$Em=null}}_$AK(e,t){let n=this.constructor,r=n._$Eh.get(e);if(r!==void 0&&this._$Em!==r){let e=n.getPropertyOptions(r),i=typeof e.converter==`function`?{fromAttribute:e.converter}:e.converter?.fromAttribute===void 0?le:e.converter;this._$Em=r;let a=i.fromAttribute(t,e.type);this[r]=a??this._$Ej?.get(r)??a,this._$Em=null}}requestUpdate(e,t,n,r=!1,i){if(e!==void 0){let a=this.constructor;if(!1===r&&(i=this[e]),n??=a.getPropertyOptions(e),!((n.hasChanged??ue)(i,t)||n.useDefault&&n.reflect&&i===this._$Ej?.get(e)&&!this.hasAttribute(a._$Eu(e,n))))return;this.C(e,t,n)}!1===this.isUpdatePending&&(this._$ES=this._$EP())}C(e,t,{useDefault:n,reflect:r,wrapped:i},a){n&&!(this._$Ej??=new Map).has(e)&&(this._$Ej.set(e,a??t??this[e]),!0!==i||a!==void 0)||(this._$AL.has(e)||(this.hasUpdated||n||(t=void 0),this._$AL.set(e,t)),!0===r&&this._$Em!==e&&(this._$Eq??=new Set).add(e))}async _$EP(){this.isUpdatePending=!0;try{await this._$ES}catch(e){Promise.reject(e)}let e=this.scheduleUpdate();return e!=null&&await e,!this.isUpdatePending}scheduleUpdate(){return this.performUpdate()}performUpdate(){if(!this.isUpdatePending)return;if(!this.hasUpdated){if(this.renderRoot??=this.createRenderRoot(),this._$Ep){for(let[e,t]of this._$Ep)this[e]=t;this._$Ep=void 0}let e=this.constructor.elementProperties;if(e.size>0)for(let[t,n]of e){let{wrapped:e}=n,r=this[t];!0!==e||this._$AL.has(t)||r===void 0||this.C(t,void 0,n,r)}}let e=!1,t=this._$AL;try{e=this.shouldUpdate(t),e?(this.willUpdate(t),this._$EO?.forEach(e=>e.hostUpdate?.()),this.update(t)):this._$EM()}catch(t){throw e=!1,this._$EM(),t}e&&this._$AE(t)}willUpdate(e){}_$AE(e){this._$EO?.forEach(e=>e.hostUpdated?.()),this.hasUpdated||(this.hasUpdated=!0,this.firstUpdated(e)),this.updated(e)}_$EM(){this._$AL=new Map,this.isUpdatePending=!1}get updateComplete(){return this.getUpdateComplete()}getUpdateComplete(){return this._$ES}shouldUpdate(e){return!0}update(e){this._$Eq&&=this._$Eq.forEach(e=>this._$ET(e,this[e])),this._$EM()}updated(e){}firstUpdated(e){}};d.elementStyles=[],d.shadowRootOptions={mode:`open`},d[ce(`elementProperties`)]=new Map,d[ce(`finalized`)]=new Map,se?.({ReactiveElement:d}),(ie.reactiveElementVersions??=[]).push(`2.1.2`);var fe=globalThis,pe=e=>e,me=fe.trustedTypes,he=me?me.createPolicy(`lit-html`,{createHTML:e=>e}):void 0,ge=`$lit$`,f=`lit$${Math.random().toFixed(9).slice(2)}$`,_e=`?`+f,ve=`<${_e}>`,p=document,ye=()=>p.createComment(``),be=e=>e===null||typeof e!=`object`&&typeof e!=`function`,xe=Array.isArray,Se=e=>xe(e)||typeof e?.[Symbol.iterator]==`function`,Ce=`[ 	
\f\r]`,we=/<(?:(!--|\/[^a-zA-Z])|(\/?[a-zA-Z][^>\s]*)|(\/?$))/g,Te=/-->/g,Ee=/>/g,m=RegExp(`>|${Ce}(?:([^\\s"'>=/]+)(${Ce}*=${Ce}*(?:[^ \t\n\f\r"'\`<>=]|("|')|))|$)`,`g`),De=/'/g,Oe=/"/g,ke=/^(?:script|style|textarea|title)$/i,Ae=e=>(t,...n)=>({_$litType$:e,strings:t,values:n}),h=Ae(1),je=Ae(2),g=Symbol.for(`lit-noChange`),_=Symbol.for(`lit-nothing`),Me=new WeakMap,v=p.createTreeWalker(p,129);function Ne(e,t){if(!xe(e)||!e.hasOwnProperty(`raw`))throw Error(`invalid template strings array`);return he===void 0?t:he.createHTML(t)}var Pe=(e,t)=>{let n=e.length-1,r=[],i,a=t===2?`<svg>`:t===3?`<math>`:``,o=we;for(let t=0;t<n;t++){let n=e[t],s,c,l=-1,u=0;for(;u<n.length&&(o.lastIndex=u,c=o.exec(n),c!==null);)u=o.lastIndex,o===we?c[1]===`!--`?o=Te:c[1]===void 0?c[2]===void 0?c[3]!==void 0&&(o=m):(ke.test(c[2])&&(i=RegExp(`</`+c[2],`g`)),o=m):o=Ee:o===m?c[0]===`>`?(o=i??we,l=-1):c[1]===void 0?l=-2:(l=o.lastIndex-c[2].length,s=c[1],o=c[3]===void 0?m:c[3]===`"`?Oe:De):o===Oe||o===De?o=m:o===Te||o===Ee?o=we:(o=m,i=void 0);let ee=o===m&&e[t+1].startsWith(`/>`)?` `:``;a+=o===we?n+ve:l>=0?(r.push(s),n.slice(0,l)+ge+n.slice(l)+f+ee):n+f+(l===-2?t:ee)}return[Ne(e,a+(e[n]||`<?>`)+(t===2?`</svg>`:t===3?`</math>`:``)),r]},Fe=class e{constructor({strings:t,_$litType$:n},r){let i;this.parts=[];let a=0,o=0,s=t.length-1,c=this.parts,[l,u]=Pe(t,n);if(this.el=e.createElement(l,r),v.currentNode=this.el.content,n===2||n===3){let e=this.el.content.firstChild;e.replaceWith(...e.childNodes)}for(;(i=v.nextNode())!==null&&c.length<s;){if(i.nodeType===1){if(i.hasAttributes())for(let e of i.getAttributeNames())if(e.endsWith(ge)){let t=u[o++],n=i.getAttribute(e).split(f),r=/([.?@])?(.*)/.exec(t);c.push({type:1,index:a,name:r[2],strings:n,ctor:r[1]===`.`?ze:r[1]===`?`?Be:r[1]===`@`?Ve:Re}),i.removeAttribute(e)}else e.startsWith(f)&&(c.push({type:6,index:a}),i.removeAttribute(e));if(ke.test(i.tagName)){let e=i.textContent.split(f),t=e.length-1;if(t>0){i.textContent=me?me.emptyScript:``;for(let n=0;n<t;n++)i.append(e[n],ye()),v.nextNode(),c.push({type:2,index:++a});i.append(e[t],ye())}}}else if(i.nodeType===8){if(i.data===_e)c.push({type:2,index:a});else{let e=-1;for(;(e=i.data.indexOf(f,e+1))!==-1;)c.push({type:7,index:a}),e+=f.length-1}}a++}}static createElement(e,t){let n=p.createElement(`template`);return n.innerHTML=e,n}};function y(e,t,n=e,r){if(t===g)return t;let i=r===void 0?n._$Cl:n._$Co?.[r],a=be(t)?void 0:t._$litDirective$;return i?.constructor!==a&&(i?._$AO?.(!1),a===void 0?i=void 0:(i=new a(e),i._$AT(e,n,r)),r===void 0?n._$Cl=i:(n._$Co??=[])[r]=i),i!==void 0&&(t=y(e,i._$AS(e,t.values),i,r)),t}var Ie=class{constructor(e,t){this._$AV=[],this._$AN=void 0,this._$AD=e,this._$AM=t}get parentNode(){return this._$AM.parentNode}get _$AU(){return this._$AM._$AU}u(e){let{el:{content:t},parts:n}=this._$AD,r=(e?.creationScope??p).importNode(t,!0);v.currentNode=r;let i=v.nextNode(),a=0,o=0,s=n[0];for(;s!==void 0;){if(a===s.index){let t;s.type===2?t=new Le(i,i.nextSibling,this,e):s.type===1?t=new s.ctor(i,s.name,s.strings,this,e):s.type===6&&(t=new He(i,this,e)),this._$AV.push(t),s=n[++o]}a!==s?.index&&(i=v.nextNode(),a++)}return v.currentNode=p,r}p(e){let t=0;for(let n of this._$AV)n!==void 0&&(n.strings===void 0?n._$AI(e[t]):(n._$AI(e,n,t),t+=n.strings.length-2)),t++}},Le=class e{get _$AU(){return this._$AM?._$AU??this._$Cv}constructor(e,t,n,r){this.type=2,this._$AH=_,this._$AN=void 0,this._$AA=e,this._$AB=t,this._$AM=n,this.options=r,this._$Cv=r?.isConnected??!0}get parentNode(){let e=this._$AA.parentNode,t=this._$AM;return t!==void 0&&e?.nodeType===11&&(e=t.parentNode),e}get startNode(){return this._$AA}get endNode(){return this._$AB}_$AI(e,t=this){e=y(this,e,t),be(e)?e===_||e==null||e===``?(this._$AH!==_&&this._$AR(),this._$AH=_):e!==this._$AH&&e!==g&&this._(e):e._$litType$===void 0?e.nodeType===void 0?Se(e)?this.k(e):this._(e):this.T(e):this.$(e)}O(e){return this._$AA.parentNode.insertBefore(e,this._$AB)}T(e){this._$AH!==e&&(this._$AR(),this._$AH=this.O(e))}_(e){this._$AH!==_&&be(this._$AH)?this._$AA.nextSibling.data=e:this.T(p.createTextNode(e)),this._$AH=e}$(e){let{values:t,_$litType$:n}=e,r=typeof n==`number`?this._$AC(e):(n.el===void 0&&(n.el=Fe.createElement(Ne(n.h,n.h[0]),this.options)),n);if(this._$AH?._$AD===r)this._$AH.p(t);else{let e=new Ie(r,this),n=e.u(this.options);e.p(t),this.T(n),this._$AH=e}}_$AC(e){let t=Me.get(e.strings);return t===void 0&&Me.set(e.strings,t=new Fe(e)),t}k(t){xe(this._$AH)||(this._$AH=[],this._$AR());let n=this._$AH,r,i=0;for(let a of t)i===n.length?n.push(r=new e(this.O(ye()),this.O(ye()),this,this.options)):r=n[i],r._$AI(a),i++;i<n.length&&(this._$AR(r&&r._$AB.nextSibling,i),n.length=i)}_$AR(e=this._$AA.nextSibling,t){for(this._$AP?.(!1,!0,t);e!==this._$AB;){let t=pe(e).nextSibling;pe(e).remove(),e=t}}setConnected(e){this._$AM===void 0&&(this._$Cv=e,this._$AP?.(e))}},Re=class{get tagName(){return this.element.tagName}get _$AU(){return this._$AM._$AU}constructor(e,t,n,r,i){this.type=1,this._$AH=_,this._$AN=void 0,this.element=e,this.name=t,this._$AM=r,this.options=i,n.length>2||n[0]!==``||n[1]!==``?(this._$AH=Array(n.length-1).fill(new String),this.strings=n):this._$AH=_}_$AI(e,t=this,n,r){let i=this.strings,a=!1;if(i===void 0)e=y(this,e,t,0),a=!be(e)||e!==this._$AH&&e!==g,a&&(this._$AH=e);else{let r=e,o,s;for(e=i[0],o=0;o<i.length-1;o++)s=y(this,r[n+o],t,o),s===g&&(s=this._$AH[o]),a||=!be(s)||s!==this._$AH[o],s===_?e=_:e!==_&&(e+=(s??``)+i[o+1]),this._$AH[o]=s}a&&!r&&this.j(e)}j(e){e===_?this.element.removeAttribute(this.name):this.element.setAttribute(this.name,e??``)}},ze=class extends Re{constructor(){super(...arguments),this.type=3}j(e){this.element[this.name]=e===_?void 0:e}},Be=class extends Re{constructor(){super(...arguments),this.type=4}j(e){this.element.toggleAttribute(this.name,!!e&&e!==_)}},Ve=class extends Re{constructor(e,t,n,r,i){super(e,t,n,r,i),this.type=5}_$AI(e,t=this){if((e=y(this,e,t,0)??_)===g)return;let n=this._$AH,r=e===_&&n!==_||e.capture!==n.capture||e.once!==n.once||e.passive!==n.passive,i=e!==_&&(n===_||r);r&&this.element.removeEventListener(this.name,this,n),i&&this.element.addEventListener(this.name,this,e),this._$AH=e}handleEvent(e){typeof this._$AH==`function`?this._$AH.call(this.options?.host??this.element,e):this._$AH.handleEvent(e)}},He=class{constructor(e,t,n){this.element=e,this.type=6,this._$AN=void 0,this._$AM=t,this.options=n}get _$AU(){return this._$AM._$AU}_$AI(e){y(this,e)}},Ue={M:ge,P:f,A:_e,C:1,L:Pe,R:Ie,D:Se,V:y,I:Le,H:Re,N:Be,U:Ve,B:ze,F:He},We=fe.litHtmlPolyfillSupport;We?.(Fe,Le),(fe.litHtmlVersions??=[]).push(`3.3.3`);var Ge=(e,t,n)=>{let r=n?.renderBefore??t,i=r._$litPart$;if(i===void 0){let e=n?.renderBefore??null;r._$litPart$=i=new Le(t.insertBefore(ye(),e),e,void 0,n??{})}return i._$AI(e),i},Ke=globalThis,b=class extends d{constructor(){super(...arguments),this.renderOptions={host:this},this._$Do=void 0}createRenderRoot(){let e=super.createRenderRoot();return this.renderOptions.renderBefore??=e.firstChild,e}update(e){let t=this.render();this.hasUpdated||(this.renderOptions.isConnected=this.isConnected),super.update(e),this._$Do=Ge(t,this.renderRoot,this.renderOptions)}connectedCallback(){super.connectedCallback(),this._$Do?.setConnected(!0)}disconnectedCallback(){super.disconnectedCallback(),this._$Do?.setConnected(!1)}render(){return g}};b._$litElement$=!0,b.finalized=!0,Ke.litElementHydrateSupport?.({LitElement:b});var qe=Ke.litElementPolyfillSupport;qe?.({LitElement:b}),(Ke.litElementVersions??=[]).push(`4.2.2`);var x=e=>(t,n)=>{n===void 0?customElements.define(e,t):n.addInitializer(()=>{customElements.define(e,t)})},Je={attribute:!0,type:String,converter:le,reflect:!1,hasChanged:ue},Ye=(e=Je,t,n)=>{let{kind:r,metadata:i}=n,a=globalThis.litPropertyMetadata.get(i);if(a===void 0&&globalThis.litPropertyMetadata.set(i,a=new Map),r===`setter`&&((e=Object.create(e)).wrapped=!0),a.set(n.name,e),r===`accessor`){let{name:r}=n;return{set(n){let i=t.get.call(this);t.set.call(this,n),this.requestUpdate(r,i,e,!0,n)},init(t){return t!==void 0&&this.C(r,void 0,e,t),t}}}if(r===`setter`){let{name:r}=n;return function(n){let i=this[r];t.call(this,n),this.requestUpdate(r,i,e,!0,n)}}throw Error(`Unsupported decorator location: `+r)};function S(e){return(t,n)=>typeof n==`object`?Ye(e,t,n):((e,t,n)=>{let r=t.hasOwnProperty(n);return t.constructor.createProperty(n,e),r?Object.getOwnPropertyDescriptor(t,n):void 0})(e,t,n)}function C(e){return S({...e,state:!0,attribute:!1})}var Xe=(e,t,n)=>(n.configurable=!0,n.enumerable=!0,Reflect.decorate&&typeof t!=`object`&&Object.defineProperty(e,t,n),n);function w(e,t){return(n,r,i)=>{let a=t=>t.renderRoot?.querySelector(e)??null;if(t){let{get:e,set:t}=typeof r==`object`?n:i??(()=>{let e=Symbol();return{get(){return this[e]},set(t){this[e]=t}}})();return Xe(n,r,{get(){let n=e.call(this);return n===void 0&&(n=a(this),(n!==null||this.hasUpdated)&&t.call(this,n)),n}})}return Xe(n,r,{get(){return a(this)}})}}var Ze=e=>(...t)=>({_$litDirective$:e,values:t}),Qe=class{constructor(e){}get _$AU(){return this._$AM._$AU}_$AT(e,t,n){this._$Ct=e,this._$AM=t,this._$Ci=n}_$AS(e,t){return this.update(e,t)}update(e,t){return this.render(...t)}},{I:$e}=Ue,et={},tt=(e,t=et)=>e._$AH=t,nt=Ze(class extends Qe{constructor(){super(...arguments),this.key=_}render(e,t){return this.key=e,t}update(e,[t,n]){return t!==this.key&&(tt(e),this.key=t),n}}),rt=o`
  :host {
    --ground: light-dark(#f6f7f8, #101418);
    --raised: light-dark(#ffffff, #171c22);
    --sunken: light-dark(#eef0f2, #0c1013);
    --text: light-dark(#1b2229, #e3e8ec);
    --quiet: light-dark(#56616c, #9aa6b1);
    --line: light-dark(#dfe3e7, #29313a);
    --edge: light-dark(#c3cad1, #3d4853);
    --accent: light-dark(#0b6679, #5cc3d8);
    --on-accent: light-dark(#ffffff, #08212a);
    --tint: light-dark(#e1f0f3, #12303a);
    --heat: light-dark(#c4e3ea, #17495a);
    --good: light-dark(#1f6e3c, #6fcf93);
    --bad: light-dark(#b3261e, #ff8f86);
    --warn: light-dark(#8a5300, #f0b45b);
    --radius: 5px;
    --s1: 4px;
    --s2: 8px;
    --s3: 12px;
    --s4: 16px;
    --s5: 24px;
    --s6: 32px;
    --mono: ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, monospace;
    background: var(--ground);
    color: var(--text);
    font: 400 0.875rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
    font-variant-numeric: tabular-nums;
  }
`,T=o`
  :host {
    display: block;
    min-width: 0;
  }
  :host([hidden]) {
    display: none;
  }
  * {
    box-sizing: border-box;
  }
  h1,
  h2,
  h3,
  p,
  dl,
  dd,
  ul,
  ol,
  pre,
  figure {
    margin: 0;
    padding: 0;
  }
  h1 {
    font-size: 1.375rem;
    font-weight: 600;
    letter-spacing: -0.01em;
    line-height: 1.3;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 0.9375rem;
    font-weight: 600;
    line-height: 1.4;
  }
  a {
    color: var(--accent);
    text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
    text-underline-offset: 0.2em;
  }
  a:hover {
    text-decoration-color: currentcolor;
  }
  :focus-visible {
    outline: 2px solid var(--accent);
    outline-offset: 2px;
    border-radius: var(--radius);
  }
  button,
  select,
  input,
  textarea {
    font: inherit;
    color: inherit;
    background: var(--raised);
    border: 1px solid var(--edge);
    border-radius: var(--radius);
    padding: var(--s1) var(--s3);
    min-height: 2rem;
    max-width: 100%;
  }
  button {
    cursor: pointer;
    white-space: nowrap;
  }
  button:hover:not(:disabled) {
    border-color: var(--quiet);
  }
  button:disabled {
    color: var(--quiet);
    cursor: default;
  }
  button[aria-pressed="true"],
  button.primary {
    background: var(--accent);
    border-color: var(--accent);
    color: var(--on-accent);
  }
  input::placeholder,
  textarea::placeholder {
    color: var(--quiet);
    opacity: 1;
  }
  code,
  pre,
  .mono {
    font-family: var(--mono);
    font-size: 0.9286em;
  }
  pre {
    padding: var(--s3);
    overflow: auto;
    background: var(--sunken);
    border-radius: var(--radius);
    line-height: 1.5;
  }
  .quiet {
    color: var(--quiet);
  }
  .good {
    color: var(--good);
  }
  .bad {
    color: var(--bad);
  }
  .warn {
    color: var(--warn);
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: calc(2 * var(--radius));
    padding: var(--s4);
    min-width: 0;
  }
  .stack {
    display: flex;
    flex-direction: column;
    gap: var(--s4);
  }
  .stack.tight {
    gap: var(--s2);
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    align-items: center;
    gap: var(--s2) var(--s3);
  }
  .row.between {
    justify-content: space-between;
  }
  .columns {
    display: grid;
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr));
    gap: var(--s4);
    align-items: start;
  }
  .facts {
    display: flex;
    flex-wrap: wrap;
    gap: var(--s1) var(--s5);
  }
  .facts > div {
    display: flex;
    gap: var(--s2);
    align-items: baseline;
  }
  .facts dt {
    color: var(--quiet);
    white-space: nowrap;
  }
  .segments {
    display: inline-flex;
  }
  .segments button {
    border-radius: 0;
    margin-inline-start: -1px;
  }
  .segments button:first-child {
    border-start-start-radius: var(--radius);
    border-end-start-radius: var(--radius);
    margin: 0;
  }
  .segments button:last-child {
    border-start-end-radius: var(--radius);
    border-end-end-radius: var(--radius);
  }
  .failure {
    border-inline-start: 3px solid var(--bad);
    background: var(--sunken);
    padding: var(--s3) var(--s4);
    border-radius: var(--radius);
    display: flex;
    flex-direction: column;
    align-items: start;
    gap: var(--s2);
    overflow-wrap: anywhere;
  }
  .empty {
    padding: var(--s5) 0;
    color: var(--quiet);
  }
  .hidden {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
`;function it(e){let t=``;return e.split(`
`).flatMap(e=>{e.startsWith(`## `)&&(t=e.slice(3).trim());let[,n,r=``,i=``,a=``,o=``]=e.split(`|`).map(e=>e.trim());return n?.startsWith("`")?[{name:at(n),number:r,subject:i,meaning:at(a),text:at(o),plugin:t}]:[]})}function at(e){return e.replaceAll("`",``)}function E(e){let[t=``,n=``]=e.replace(/^#\/?/,``).split(/\?(.*)/s);return{path:t.split(`/`).filter(Boolean).map(ot),query:new URLSearchParams(n)}}function D(e,t={}){let n=E(location.hash).query.get(`process`)??void 0,r=new URLSearchParams;for(let[e,i]of Object.entries({process:n,...t}))i&&r.set(e,i);let i=r.toString();return`#/${e.map(e=>encodeURIComponent(e)).join(`/`)}${i&&`?${i}`}`}function O(e){let{path:t,query:n}=E(location.hash),r=D(t,{...Object.fromEntries(n),...e});history.replaceState(null,``,r),dispatchEvent(new HashChangeEvent(`hashchange`))}function ot(e){try{return decodeURIComponent(e)}catch{return e}}function k(e,t){return(e??``).replace(t,``).replaceAll(`_`,` `).toLowerCase()}function st(e){return k(e,`EXTENSION_POINT_`).replace(/(?:^| )(\w)/g,(e,t)=>t.toUpperCase())}function A(e){return`${e?.namespace??``}/${e?.name??``}`}function ct(e){return e?.reason?`${e.plugin?`${e.plugin}: `:``}${e.reason}`:``}function lt(e){if(e.result===`DECISION_RESULT_SCHEDULED`)return{mark:`✓`,text:e.node||`feasible`,tone:`good`};let t=ct(e.dominant)||e.verdict?.message||(e.verdict?.reasons??[]).join(`, `);return e.result===`DECISION_RESULT_UNSCHEDULABLE`?{mark:`✕`,text:t,tone:`bad`}:{mark:`⚠`,text:t||k(e.result,`DECISION_RESULT_`),tone:`warn`}}function j(e){return/^[\w./:=@%+,-]+$/.test(e)?e:`'${e.replaceAll(`'`,`'\\''`)}'`}var ut=class extends Error{constructor(e,t,n){super(e),this.code=t,this.reason=n}};async function M(e,t,n){return await(await Tt(xt(e),wt(t),n)).json()}async function dt(e,t,n){return(await Tt(`decisions/${encodeURIComponent(e)}/columns${t?`?again=1`:``}`,{},n)).arrayBuffer()}async function ft(e,t){return(await Tt(`explain/columns`,wt(e),t)).arrayBuffer()}async function pt(e){return mt=(await(await Tt(`processes`,{},e)).json()).processes,mt}var mt=[],ht=`server:127.0.0.1:50051`;function gt(){let e=E(location.hash).query.get(`process`);return mt.find(t=>t.name===e)??mt[0]}function _t(){let{source:e=ht}=gt()??{};return e===ht?[]:[`--cluster`,j(e)]}function vt(){let{address:e=``}=gt()??{};return e.startsWith(`unix:`)?`-unix ${j(e.slice(5))}`:e}var yt=new Map;async function bt(e){let t=gt()?.source??``,n=yt.get(t)??M(`PluginService/GetCapabilities`,{}).then(({rpcs:e=[]})=>e);yt.set(t,n);try{return(await n).includes(xt(e))}catch(e){throw yt.delete(t),e}}function xt(e){return`mooring.v1.${e}`}function St(e){let t=new URL(`api/v1/${e}`,document.baseURI),n=E(location.hash).query.get(`process`);return n&&t.searchParams.set(`process`,n),t.href}async function Ct(e,t){return(await M(`ClusterService/ListNodes`,{labelSelector:e},t)).nodes?.names?.names??[]}function wt(e){return{method:`POST`,headers:{"content-type":`application/json`},body:JSON.stringify(e)}}async function Tt(e,t,n){let r;try{r=await fetch(St(e),{...t,signal:n??null})}catch(e){throw n?.throwIfAborted(),new ut(`mooring web does not answer: ${e.message}`,`unavailable`,``)}if(r.ok)return r;let i=await r.json().catch(()=>({})),a=i.details?.find(e=>e.type===`google.rpc.ErrorInfo`);throw new ut(i.message??`HTTP ${r.status}`,i.code??``,a?.debug?.reason??``)}var N=class{constructor(e,t,n={}){this.host=e,this.load=t,this.options=n,this.loading=!1,this.answered=!1,this.begun=!1,this.abort=new AbortController,this.timer=0,this.whenVisible=()=>{!document.hidden&&this.options.every&&!this.loading&&this.run()},e.addController(this)}hostConnected(){document.addEventListener(`visibilitychange`,this.whenVisible)}hostUpdate(){let e=this.options.key?.();this.begun&&e===this.loadedKey||(this.value=this.error=void 0,this.answered=!1,[this.begun,this.loadedKey]=[!0,e],this.options.onRequest?this.stop():this.run())}hostDisconnected(){document.removeEventListener(`visibilitychange`,this.whenVisible),this.begun=!1,this.stop()}async run(){this.stop();let{signal:e}=this.abort=new AbortController;this.loading=!0,this.options.onRequest&&this.host.requestUpdate();try{let t=await this.load(e);if(e.aborted)return;[this.value,this.error,this.answered]=[t,void 0,!0]}catch(t){if(e.aborted)return;this.error=t}this.loading=!1,this.host.requestUpdate();let{every:t}=this.options;t&&(this.timer=window.setTimeout(this.whenVisible,typeof t==`number`?t:t()))}show(e){return!this.answered&&!this.error?this.loading||!this.options.onRequest?h`<p class="quiet" role="status">Loading …</p>`:_:h`${this.error?Ot(this.error,()=>void this.run()):_}${this.answered?e(this.value):_}`}stop(){this.abort.abort(),this.loading=!1,clearTimeout(this.timer)}},Et={DECISION_NOT_FOUND:`The journal is bounded: the decision is forgotten, or the process was restarted since.`,DECISION_NOT_REPEATABLE:`Explain the pod as of now instead.`,CONFIGURATION_NOT_FOUND:`Only the last configurations since the start are remembered: compare with another one.`,NOT_IMPLEMENTED:`This process does not answer that: select another one, or turn the journal on.`,POD_NOT_FOUND:`The pod is gone, or not known yet.`,SESSION_EXPIRED:`The copy of the cluster is too old: start over.`,SESSION_NOT_FOUND:`The copy of the cluster ended after ten minutes without a call: start over.`,NOT_SYNCED:`The process is still reading the cluster.`,UNAVAILABLE:`The process can't be reached: is it running, and is its address right?`,RESOURCE_EXHAUSTED:`It has too much to do: wait a moment.`},Dt=new Set([`DECISION_NOT_FOUND`,`DECISION_NOT_REPEATABLE`,`CONFIGURATION_NOT_FOUND`,`NOT_IMPLEMENTED`]);function Ot(e,t,n=`Try again`){let{code:r=``,reason:i=``}=e instanceof ut?e:{};return h`<div class="failure" role="alert">
    <p><strong>${e.message}</strong></p>
    <p>${Et[i]??Et[r]??_}</p>
    ${Dt.has(i)?_:h`<button @click=${t}>${n}</button>`}
  </div>`}function P(e,t,n,r){var i=arguments.length,a=i<3?t:r===null?r=Object.getOwnPropertyDescriptor(t,n):r,o;if(typeof Reflect==`object`&&typeof Reflect.decorate==`function`)a=Reflect.decorate(e,t,n,r);else for(var s=e.length-1;s>=0;s--)(o=e[s])&&(a=(i<3?o(a):i>3?o(t,n,a):o(t,n))||a);return i>3&&a&&Object.defineProperty(t,n,a),a}var kt=(function(){let e=typeof document<`u`&&document.createElement(`link`).relList;return e&&e.supports&&e.supports(`modulepreload`)?`modulepreload`:`preload`})(),At=function(e,t){return new URL(e,t).href},jt={},Mt=function(e){return e.pathname.endsWith(`.css`)},Nt=function(e,t,n){if(t in e)return e[t];let r=n();if(!r){e[t]=void 0;return}let i=r.then(()=>{e[t]=void 0},n=>{throw e[t]=void 0,n});return e[t]=i,i},Pt=function(e,t,n){let r=Promise.resolve();if(t&&t.length>0){let e,i=document.querySelector(`meta[property=csp-nonce]`),a=i?.nonce||i?.getAttribute(`nonce`);function o(e){return Promise.all(e.map(e=>Promise.resolve(e).then(e=>({status:`fulfilled`,value:e}),e=>({status:`rejected`,reason:e}))))}function s(e){return import.meta.resolve?new URL(import.meta.resolve(e)):new URL(e,import.meta.url)}r=o(t.map(t=>{t=At(t,n);let r=s(t),i=Mt(r);return Nt(jt,r.href,()=>{if(e===void 0){e={all:new Set,styles:new Set};let t=document.getElementsByTagName(`link`);for(let n=t.length-1;n>=0;n--){let r=t[n];e.all.add(r.href),r.rel===`stylesheet`&&e.styles.add(r.href)}}if((i?e.styles:e.all).has(r.href))return;let t=document.createElement(`link`);if(t.rel=i?`stylesheet`:kt,i||(t.as=`script`),t.crossOrigin=``,t.href=r.href,a&&t.setAttribute(`nonce`,a),document.head.appendChild(t),i)return new Promise((e,n)=>{let i=a=>{t.removeEventListener(`load`,i),t.removeEventListener(`error`,i),a.type===`error`?n(Error(`Unable to preload CSS for ${r}`)):e(a)};t.addEventListener(`load`,i),t.addEventListener(`error`,i)})})}).filter(e=>e!==void 0))}function i(e){let t=new Event(`vite:preloadError`,{cancelable:!0});if(t.payload=e,window.dispatchEvent(t),!t.defaultPrevented)throw e}return r.then(t=>{for(let e of t||[])e.status===`rejected`&&i(e.reason);return e().catch(i)})},Ft=class extends b{constructor(...e){super(...e),this.name=``,this.codes=new N(this,async()=>it((await Pt(async()=>{let{default:e}=await import(`./reason-codes.js`);return{default:e}},[],import.meta.url)).default))}static{this.styles=[T]}render(){return h`<div class="stack">
      <h1>Reason code ${this.name}</h1>
      ${this.codes.show(e=>this.described(e))}
    </div>`}described(e){let t=e.find(({name:e})=>e===this.name);if(!t)return h`<p class="card">It is none of mooring's codes: a plugin has words of its own.</p>`;let{meaning:n,number:r,subject:i,plugin:a,text:o}=t,s=e.filter(e=>e.plugin===a&&e.name!==this.name);return h`<section class="card stack tight" aria-label=${this.name}>
        <p>${n}</p>
        <dl class="facts">
          <div><dt>Number</dt><dd>${r}</dd></div>
          <div><dt>Subject</dt><dd>${i}</dd></div>
          <div><dt>Found by</dt><dd>${a.includes(` `)?a:h`<a href=${D([`plugins`,a])}>${a}</a>`}</dd></div>
          ${o?h`<div><dt>kube-scheduler</dt><dd>${o}</dd></div>`:_}
        </dl>
      </section>
      ${s.length?h`<p class="quiet">Others: ${s.map(({name:e},t)=>h`${t?`, `:_}<a href=${D([`codes`,e])}>${e}</a>`)}</p>`:_}`}};P([S()],Ft.prototype,`name`,void 0),Ft=P([x(`mooring-code`)],Ft);var It=class extends b{constructor(...e){super(...e),this.copies=[],this.done=``,this.failed=``}static{this.styles=[T,o`
      :host {
        display: inline-block;
      }
      button {
        font-size: 0.8125rem;
        min-height: 1.75rem;
        padding: 0 var(--s2);
      }
    `]}render(){return h`<span class="row" role="group" aria-label="Copy as">
      <span class="quiet" aria-hidden="true">Copy as</span>
      ${this.copies.map(e=>h`<button title=${typeof e.text==`string`?e.text:_} @click=${()=>void this.copy(e)}>${this.done===e.name?`✓ `:this.failed===e.name?`✕ `:``}${e.name}</button>`)}
      <span class="hidden" role="status">${this.done&&`${this.done} copied`}${this.failed&&`${this.failed} could not be copied`}</span>
    </span>`}async copy({name:e,text:t}){try{await Lt(typeof t==`string`?t:await t()),this.done=e}catch{this.failed=e}setTimeout(()=>this.done=this.failed=``,2e3)}};P([S({attribute:!1})],It.prototype,`copies`,void 0),P([C()],It.prototype,`done`,void 0),P([C()],It.prototype,`failed`,void 0),It=P([x(`mooring-copy`)],It);async function Lt(e){if(navigator.clipboard)return navigator.clipboard.writeText(e);let t=document.createElement(`textarea`);t.value=e,document.body.append(t),t.select(),document.execCommand(`copy`),t.remove()}var Rt=new Intl.NumberFormat(`en-US`,{maximumFractionDigits:1}),zt=[``,`Ki`,`Mi`,`Gi`,`Ti`,`Pi`];function F(e){return Rt.format(e)}function I(e,t){return`${F(e)} ${t}${e===1?``:`s`}`}function L(e,t){return e===`cpu`?F(t/1e3):Ht(e)?Ut(t):F(t)}var Bt={n:1e-9,u:1e-6,m:.001,"":1,k:1e3,M:1e6,G:1e9,T:0xe8d4a51000,P:0x38d7ea4c68000,E:0xde0b6b3a7640000,Ki:1024,Mi:2**20,Gi:2**30,Ti:2**40,Pi:2**50,Ei:2**60};function Vt(e,t){let[,n=``,r=``]=/^([-+.\deE]*\d)([a-zA-Z]*)$/.exec(t)??[];return Number(n)*(Bt[r]??NaN)*(e===`cpu`?1e3:1)}function Ht(e){return/^(memory|ephemeral-storage|hugepages-)/.test(e)}function Ut(e){let t=Math.min(zt.length-1,Math.max(0,Math.floor(Math.log2(Math.abs(e)||1)/10)));return`${F(e/1024**t)}${zt[t]}`}function Wt(e){return e===void 0?``:R(parseFloat(e))}function R(e){return e<.001?`${F(Math.round(e*1e6))} µs`:e<1?`${F(e*1e3)} ms`:e<120?`${F(Math.round(e*10)/10)} s`:e<7200?`${F(Math.floor(e/60))} min`:e<172800?`${F(Math.floor(e/3600))} h`:`${F(Math.floor(e/86400))} d`}function z(e,t=Date.now()){if(!e)return``;let n=(t-Date.parse(e))/1e3;return n<1?`now`:R(Math.floor(n))}var Gt=4,Kt=8,qt={int8:(e,t,n)=>new Int8Array(e,t,n),uint8:(e,t,n)=>new Uint8Array(e,t,n),int16:(e,t,n)=>new Int16Array(e,t,n),uint16:(e,t,n)=>new Uint16Array(e,t,n),int32:(e,t,n)=>new Int32Array(e,t,n),uint32:(e,t,n)=>new Uint32Array(e,t,n),float64:(e,t,n)=>new Float64Array(e,t,n)};function Jt(e){if(e.byteLength<Gt)throw Error(`columns: ${e.byteLength} bytes are too few for a header`);let t=new DataView(e).getUint32(0,!0),n=Gt+t;if(n>e.byteLength)throw Error(`columns: the header of ${t} bytes is cut off`);let r=JSON.parse(new TextDecoder().decode(new Uint8Array(e,Gt,t))),i=Math.ceil(n/Kt)*Kt,a=new Map;for(let{name:t,dtype:n,shape:o,offset:s}of r.arrays){let r=qt[n];if(!r)throw Error(`columns: array ${t} has the unknown type ${n}`);let c=o.reduce((e,t)=>e*t,1);try{a.set(t,r(e,i+s,c))}catch{throw Error(`columns: array ${t} of ${c} ${n} at ${s} lies outside the answer`)}}return{header:r,arrays:a}}function Yt(e){let t=e.length>1?e[0]:``;for(let n of e)for(;!n.endsWith(t)||n===t;){let e=t.indexOf(`.`,1);if(e<0)return``;t=t.slice(e)}return t}var Xt=new Uint32Array;function Zt(e){let{header:t,arrays:n}=Jt(e),r=e=>n.get(e)??Xt,i=new Uint8Array(t.nodes.length),a=e=>r(e).length?r(e):i;return{made:t.made,decision:t.decision,differences:t.differences??[],pod:t.pod,assigned:t.assigned,provenance:t.provenance,verdict:t.verdict,seed:BigInt(t.seed),nodes:t.nodes,suffix:Yt(t.nodes),distinct:t.distinct,verdicts:r(`verdicts`),scored:r(`scored`),plugins:t.plugins.map(({name:e,weight:t},n)=>({name:e,weight:t,raw:r(`raw.${n}`),normalized:r(`normalized.${n}`)})),selected:t.selected,ties:r(`ties`),rejections:{nodes:r(`rejections.nodes`),verdicts:r(`rejections.verdicts`)},findings:{distinct:t.findings??[],nodes:r(`findings.nodes`),indices:r(`findings.indices`)},podFindings:t.podFindings??[],preemptionFindings:t.preemptionFindings??[],resources:t.resources.map(({name:e,requested:t},n)=>({name:e,requested:t,free:a(`free.${n}`)})),warnings:t.warnings,evaluated:t.evaluated,feasible:t.feasible}}function B(e,t){let n=e.nodes[t];return n.slice(0,n.length-e.suffix.length)}function Qt({raw:e,normalized:t}){return e.every(t=>t===e[0])&&t.every(e=>e===t[0])}function $t(e,t){let n=e.verdicts[t]??0,r=new Set(n?[n]:[]),{nodes:i,verdicts:a}=e.rejections;for(let e=an(i,t);i[e]===t;e++)r.add(a[e]);return Array.from(r,t=>e.distinct[t])}function en(e,t){let n=an(e.scored,t);return e.scored[n]===t?n:-1}function tn(e,t){let{distinct:n,nodes:r,indices:i}=e.findings,a=[];for(let e=an(r,t);r[e]===t;e++)a.push(n[i[e]]);let o=$t(e,t).filter(({plugin:e=``})=>!a.some(t=>t.plugin===e));return[...a,...o.flatMap(({plugin:e=``,reasons:t=[``]})=>t.map(t=>({plugin:e,message:t})))]}function nn(e){let t,[n,r]=[1/0,1/0];for(let i=0;i<e.nodes.length;i++){if(!e.verdicts[i])continue;let a=tn(e,i),o=a.length<=n?a.reduce((e,t)=>e+rn(t),0):1/0;(a.length<n||a.length===n&&o<r)&&([t,n,r]=[i,a.length,o])}return t}function rn({amounts:e}){let[t,n,r]=[Number(e?.asked??0),Number(e?.taken??0),Number(e?.limit??0)];return t?(t+n-r)/t:0}function an(e,t){let n=0,r=e.length;for(;n<r;){let i=n+r>>1;e[i]<t?n=i+1:r=i}return n}function on(e,t,n,r){let i=en(e,n),a=en(e,r);return i<0||a<0?[]:e.plugins.map(({name:e,normalized:n},r)=>{let o=t[r],[s,c]=[n[i]*o,n[a]*o];return{plugin:e,first:s,second:c,lead:s-c}}).sort((e,t)=>Math.abs(t.lead)-Math.abs(e.lead))}var sn=3;function cn(e){let t=ln(e),n=[...(e.decision?.rejectingPlugins??[]).filter(e=>t.has(e)),...t.keys()],r=e.nodes.length;return[...new Set(n)].map(e=>{let n=[...t.get(e).values()].sort((e,t)=>t.count-e.count),i=n.reduce((e,t)=>e+t.count,0);return r-=i,{plugin:e,rejected:i,left:r,reasons:n}})}function ln(e){let t=new Map;return e.verdicts.forEach((n,r)=>{if(!n)return;let{plugin:i=``,reasons:a=[]}=e.distinct[n],o=a.join(`, `),s=t.get(i)??new Map;t.set(i,s);let c=s.get(o)??{text:o,count:0,examples:[]};s.set(o,c),c.count++,c.examples.length<sn&&c.examples.push(r)}),t}var un=(1n<<64n)-1n,V=128,dn=[7640891576956012808n,13503953896175478587n,4354685564936845355n,11912009170470909681n,5840696475078001361n,11170449401992604703n,2270897969802886507n,6620516959819538809n],fn=[`0123456789abcdef`,`ea489fd61c02b753`,`b8c052fdae367194`,`7931dcbe265a40f8`,`905724afe1bc683d`,`2c6a0b834d75fe19`,`c51fed4a0763928b`,`db7ec13950f4862a`,`6fe9b308c2d714a5`,`a2847615fb9e3cd0`,`0123456789abcdef`,`ea489fd61c02b753`].map(e=>Array.from(e,e=>parseInt(e,16))),pn=[[0,4,8,12],[1,5,9,13],[2,6,10,14],[3,7,11,15],[0,5,10,15],[1,6,11,12],[2,7,8,13],[3,4,9,14]];function mn(e,t,n){return n>1?Number(hn(e,t)%BigInt(n)):0}function hn(e,t){let n=new TextEncoder().encode(t),r=new Uint8Array(V*(1+Math.ceil(n.length/V)));new DataView(r.buffer).setBigUint64(0,e&un,!0),r.set(n,V);let i=[...dn];i[0]^=BigInt(16844808);let a=V+n.length;for(let e=0;e<r.length;e+=V)gn(i,new DataView(r.buffer,e,V),Math.min(e+V,a),e+V>=a);return i[0]}function gn(e,t,n,r){let i=[...e,...dn];i[12]^=BigInt(n),r&&(i[14]^=un);for(let e of fn)pn.forEach(([n,r,a,o],s)=>{let c=n=>t.getBigUint64(8*e[n],!0);_n(i,n,r,a,o,c(2*s),c(2*s+1))});for(let t=0;t<8;t++)e[t]^=i[t]^i[t+8]}function _n(e,t,n,r,i,a,o){let s=(a,o,s)=>{e[t]=e[t]+e[n]+a&un,e[i]=vn(e[i]^e[t],o),e[r]=e[r]+e[i]&un,e[n]=vn(e[n]^e[r],s)};s(a,32n,24n),s(o,16n,63n)}function vn(e,t){return(e>>t|e<<64n-t)&un}var yn=NaN;function bn(e,t){let n=new Float64Array(e.nodes.length).fill(yn),r=Sn(e,t);e.scored.forEach((e,t)=>n[e]=r[t]);let i=Uint32Array.from(e.scored).sort((e,t)=>n[t]-n[e]||e-t),a=n[i[0]??-1],o=0;for(;o<i.length&&n[i[o]]===a;)o++;let s=Array.from(i.subarray(0,o)),c=Cn(e,s);return i.set([...s].sort((e,t)=>Number(t===c)-Number(e===c))),{totals:n,order:wn(i,n),ties:s,selected:c,runnerUp:i[o]}}function xn(e){return e.plugins.map(e=>e.weight)}function Sn(e,t){let n=new Float64Array(e.scored.length);return e.plugins.forEach(({normalized:e},r)=>{let i=t[r];for(let t=0;t<n.length;t++)n[t]+=e[t]*i}),n}function Cn(e,t){return t.length?t[mn(e.seed,e.pod.uid??``,t.length)]:e.selected}function wn(e,t){let n=new Uint32Array(t.length);n.set(e);let r=e.length;for(let e=0;e<t.length;e++)Number.isNaN(t[e])&&(n[r++]=e);return n}var Tn=new Intl.Collator(`en`,{numeric:!0});function En(e){return/=|^\s*!|\b(not)?in\s*\([^)]*\)/.test(e)}function Dn(e,t,n,r,i){let a=typeof i==`string`?An(e,i):t=>i.has(e.nodes[t]),o=Array.from(t.order).filter(a);if(n.column===`total`&&n.descending)return o;let s=On(e,t,n.column,r);return o.sort(n.descending?(e,t)=>s(t,e):s)}function On(e,{totals:t},n,r){if(n===`node`)return(t,n)=>Tn.compare(e.nodes[t],e.nodes[n]);if(n===`verdict`)return(t,n)=>e.verdicts[t]-e.verdicts[n];if(n===`total`)return kn(e=>t[e]);let i=e.plugins[Number(n.slice(7))],a=r===`raw`?i.raw:i.normalized;return kn(t=>a[en(e,t)]??NaN)}function kn(e){let t=t=>Number.isNaN(e(t))?-1/0:e(t);return(e,n)=>t(e)-t(n)||0}function An(e,t){let n=t.trim().toLowerCase();if(!n)return()=>!0;let r=e=>e.toLowerCase().includes(n),i=new Set(e.distinct.filter(({plugin:e=``,reasons:t=[]})=>r(`${e}: ${t.join(`, `)}`))),a=new Set(e.findings.distinct.filter(({plugin:e=``,message:t=``})=>r(`${e}: ${t}`)));return t=>r(e.nodes[t])||$t(e,t).some(e=>i.has(e))||a.size>0&&tn(e,t).some(e=>a.has(e))}function jn(e,t,n){let{assigned:r}=e,i=t.selected===void 0?Pn(e):Mn(e,t,t.selected,n);return r?`is on ${r}; today it ${i}`:i}function Mn(e,t,n,r){let i=`${r.some((t,n)=>t!==e.plugins[n].weight)?`would go`:`goes`} to ${B(e,n)}${e.nodes[n]===e.assigned?` too`:``}`;if(!e.plugins.length||!e.scored.length)return`${i}: ${e.feasible===1?`the only feasible node, so nothing was scored`:`no plugin scores`}.`;let a=100*r.reduce((e,t)=>e+t,0),o=[`${F(t.totals[n])} of ${F(a)} points`];return t.ties.length>1&&o.push(`${F(t.ties.length)} nodes tied, seed ${e.seed} decided`),`${i}: ${o.join(`, `)}${Nn(e,t,r)}.`}function Nn(e,{selected:t,runnerUp:n,totals:r},i){if(t===void 0||n===void 0)return``;let a=r[t]-r[n],o=on(e,i,t,n).find(e=>e.lead>0);return`; ${B(e,n)} is ${F(a)} behind${o?` (${o.plugin})`:``}`}function Pn(e){let t=e.decision?.nominatedNode,n=t?` Room is being made for it on ${t}.`:``;return`has no node: ${e.verdict.message||(e.verdict.reasons??[]).join(`, `)||`no node is feasible`}${n}`}function Fn(e,t){let n=e.plugins.flatMap(({name:e,weight:n},r)=>t[r]===n?[]:[{name:e,weight:t[r]}]),r=n.filter(({weight:e})=>!e),i=n.filter(({weight:e})=>e);return[`apiVersion: kubescheduler.config.k8s.io/v1`,`kind: KubeSchedulerConfiguration`,`profiles:`,`- schedulerName: ${JSON.stringify(e.provenance.profile??`default-scheduler`)}`,`  plugins:`,`    score:${n.length?``:` {}`}`,...i.length?[`      enabled:`,...i.flatMap(({name:e,weight:t})=>[`      - name: ${e}`,`        weight: ${t}`])]:[],...r.length?[`      disabled:`,...r.map(({name:e})=>`      - name: ${e}`)]:[],``].join(`
`)}var In=class extends b{constructor(...e){super(...e),this.first=``,this.second=``,this.differences=[]}static{this.styles=[T,o`
      table {
        width: 100%;
        border-collapse: collapse;
      }
      th {
        font-weight: inherit;
        text-align: start;
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s2);
        vertical-align: middle;
      }
      td,
      th:nth-child(n + 2) {
        text-align: end;
      }
      tbody th {
        color: inherit;
        overflow-wrap: anywhere;
      }
      .bar {
        width: 30%;
        min-width: 5rem;
      }
      .axis {
        display: grid;
        grid-template-columns: 1fr 1fr;
        height: 10px;
        background: linear-gradient(var(--edge), var(--edge)) center / 1px 100% no-repeat;
      }
      .axis span {
        height: 100%;
        border-radius: 2px;
      }
      .ahead {
        background: var(--accent);
        justify-self: end;
      }
      .behind {
        background: var(--warn);
        grid-column: 2;
      }
      @media (max-width: 40rem) {
        .bar {
          display: none;
        }
        th,
        td {
          padding: var(--s1);
        }
      }
      tfoot td,
      tfoot th {
        border-top: 1px solid var(--line);
        font-weight: 600;
        color: inherit;
      }
    `]}render(){let e=e=>this.differences.reduce((t,n)=>t+e(n),0),t=e(e=>e.lead),n=Math.max(1,...this.differences.map(e=>Math.abs(e.lead)));return h`<div class="stack tight">
      <p>${this.verdict(t)}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            <th scope="col">${this.first}</th>
            <th scope="col" class="bar"><span class="hidden">Which node is ahead</span></th>
            <th scope="col">${this.second}</th>
            <th scope="col">Lead</th>
          </tr>
        </thead>
        <tbody>
          ${this.differences.map(e=>h`<tr>
                <th scope="row">${e.plugin}</th>
                <td>${F(e.first)}</td>
                <td class="bar">${Ln(e.lead/n)}</td>
                <td>${F(e.second)}</td>
                <td>${Rn(e.lead)}</td>
              </tr>`)}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Total</th>
            <td>${F(e(e=>e.first))}</td>
            <td class="bar"></td>
            <td>${F(e(e=>e.second))}</td>
            <td>${Rn(t)}</td>
          </tr>
        </tfoot>
      </table>
    </div>`}verdict(e){if(!e)return h`<strong>${this.first}</strong> and <strong>${this.second}</strong> are tied.`;let[t,n]=e>0?[this.first,this.second]:[this.second,this.first];return h`<strong>${t}</strong> is ${F(Math.abs(e))} ahead of <strong>${n}</strong>.`}};P([S()],In.prototype,`first`,void 0),P([S()],In.prototype,`second`,void 0),P([S({attribute:!1})],In.prototype,`differences`,void 0),In=P([x(`mooring-comparison`)],In);function Ln(e){let t=`width: ${100*Math.abs(e)}%`;return h`<span class="axis" aria-hidden="true"><span class=${e>0?`ahead`:`behind`} .style=${t}></span></span>`}function Rn(e){return e>0?`+${F(e)}`:e<0?`−${F(-e)}`:`0`}function zn({code:e,customCode:t=``}){let n=(e??``).replace(`REASON_CODE_`,``).toLowerCase().split(`_`);return t||n.map(e=>e.charAt(0).toUpperCase()+e.slice(1)).join(``)}function Bn({subjectKind:e,subject:t=``}){let n=(e??``).replace(`SUBJECT_KIND_`,``).replaceAll(`_`,` `).toLowerCase();return t?n===`other`||!n?t:`${n} ${t}`:``}function Vn({subjectKind:e,subject:t=``},n){let r=Number(n??0);return e===`SUBJECT_KIND_RESOURCE`?L(t,r):F(r)}function Hn(e){let{amounts:t,asked:n=``,present:r=``}=e;if(t){let[n,r,i]=[t.asked,t.taken,t.limit].map(t=>Vn(e,t));return`asks ${n} · ${r} of ${i} taken`}return[n&&`asks ${n}`,r&&`has ${r}`].filter(Boolean).join(` · `)}function Un(e){let{message:t=``,subject:n=``,asked:r=``,present:i=``,amounts:a}=e,o=!a&&[r,i].every(e=>t.includes(e));return[t.includes(n)?``:Bn(e),o?``:Hn(e)].filter(Boolean).join(`: `)}function Wn({kind:e}){return![`HOLDER_KIND_ATTACHMENT`,`HOLDER_KIND_RESOURCE_CLAIM`,`HOLDER_KIND_DOMAIN`].includes(e??``)}var Gn=o`
  .findings {
    list-style: none;
  }
  .findings > li {
    padding: var(--s2) 0;
    border-top: 1px solid var(--line);
    overflow-wrap: anywhere;
  }
`;function Kn(e,t){return h`<ul class="findings">
    ${e.map(e=>h`<li>${qn(e,t)}</li>`)}
  </ul>`}function qn(e,t){let{plugin:n=``,message:r=``,podChange:i=``,nodeChange:a=``}=e,o=Un(e);return h`<p><span class="bad">✕</span> <strong>${n||`mooring`}</strong>: ${r} ${Jn(e,t)}
      ${e.nodes?h`<span class="quiet">on ${I(e.nodes,`node`)}</span>`:_}</p>
    ${o?h`<p class="quiet">${o}</p>`:_} ${Yn(e,t)}
    ${i?h`<p>→ ${i}</p>`:_} ${a?h`<p>→ ${i?`or `:_}${a}</p>`:_}`}function Jn(e,t){let n=zn(e);return n?t&&!e.customCode?h`<a class="mono" href=${t.code(n)}>${n}</a>`:h`<span class="quiet mono">${n}</span>`:_}function Yn(e,t){let{holders:n=[],otherHolderCount:r=0}=e;return n.length?h`<p>
    <span class="quiet">held by</span> ${n.map((n,r)=>h`${r?`, `:_}${Xn(e,n,t)}`)}${r?h` <span class="quiet">and ${r} more</span>`:_}
  </p>`:_}function Xn(e,t,n){let{name:r=``,amount:i,note:a=``,node:o=``}=t,s=i===void 0?``:Vn(e,i),c=[...new Set([s,a,o&&`on ${o}`])].filter(Boolean).join(`, `);return h`${n&&Wn(t)?h`<a href=${n.pod(r)}>${r}</a>`:r}${c?h` <span class="quiet">(${c})</span>`:_}`}var Zn=class extends b{constructor(...e){super(...e),this.stages=[],this.total=0}static{this.styles=[T,o`
      ol {
        list-style: none;
        display: grid;
        grid-template-columns: fit-content(50%) minmax(4rem, 1fr) auto;
        gap: var(--s2) var(--s3);
      }
      .stage {
        display: grid;
        grid-column: 1 / -1;
        grid-template-columns: subgrid;
        row-gap: 0;
        align-items: center;
      }
      .name {
        overflow-wrap: anywhere;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: var(--sunken);
        display: flex;
        overflow: hidden;
      }
      .left {
        background: var(--accent);
      }
      .rejected {
        background: repeating-linear-gradient(135deg, var(--bad) 0 2px, transparent 2px 5px);
      }
      .figure {
        text-align: end;
        min-width: 3.5rem;
      }
      ul {
        grid-column: 1 / -1;
        list-style: none;
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      li button {
        all: unset;
        cursor: pointer;
        text-decoration: underline;
        text-decoration-color: color-mix(in srgb, currentcolor 35%, transparent);
        text-underline-offset: 0.2em;
        overflow-wrap: anywhere;
      }
      li button:hover {
        color: var(--text);
      }
      li button:focus-visible {
        outline: 2px solid var(--accent);
      }
    `]}render(){let e=this.stages.at(-1)?.left??this.total;return h`<ol>
      <li class="stage">
        <span class="name">All nodes</span>${this.track(this.total,0)}<span class="figure">${F(this.total)}</span>
      </li>
      ${this.stages.map(e=>this.stage(e))}
      <li class="stage">
        <strong class="name">Feasible</strong>${this.track(e,0)}<strong class="figure ${e?`good`:`bad`}"
          >${e?`✓`:`✕`} ${F(e)}</strong
        >
      </li>
    </ol>`}stage({plugin:e,rejected:t,left:n,reasons:r}){return h`<li class="stage">
      <span class="name" title=${e}>${e||`mooring`}</span>
      ${this.track(n,t)}
      <span class="figure bad" title="${I(t,`node`)} rejected, ${F(n)} left">−${F(t)}</span>
      <ul>
        ${r.map(e=>h`<li>
              <button title="Show these nodes" @click=${()=>this.show(e.text)}>${e.text||`no reason given`}</button>
              ${r.length>1?h` · ${F(e.count)}`:_}
            </li>`)}
      </ul>
    </li>`}track(e,t){let n=e=>`width: ${100*e/Math.max(1,this.total)}%`;return h`<span class="track" aria-hidden="true"
      ><span class="left" .style=${n(e)}></span><span class="rejected" .style=${n(t)}></span
    ></span>`}show(e){this.dispatchEvent(new CustomEvent(`mooring-filter`,{detail:e}))}};P([S({attribute:!1})],Zn.prototype,`stages`,void 0),P([S({type:Number})],Zn.prototype,`total`,void 0),Zn=P([x(`mooring-funnel`)],Zn);var Qn=480,$n=900;function er(e,t,n,r){let i=e=>Math.min(r[e]?$n:Qn,n[e]??0),a=t.map(()=>void 0),o=t.flatMap((e,t)=>r[t]?[]:[t]),s=e;t.forEach((e,t)=>s-=r[t]?i(t):e);let c=o.filter(e=>i(e)>t[e]),l=c.reduce((e,n)=>e+i(n)-t[n],0);for(let e of o){let n=i(e)?t[e]-i(e):0,r=Math.min(n,l-s);r<=0||(a[e]=t[e]-r,s+=r)}for(let e of c){let n=Math.min(i(e)-t[e],s);n<=0||(a[e]=t[e]+n,s-=n)}return a}var H=30,tr=4,U=class extends b{constructor(...e){super(...e),this.columns=[],this.rows=[],this.keyOf=e=>String(e),this.marksOf=()=>``,this.restOf=()=>void 0,this.label=``,this.empty=`Nothing here.`,this.first=0,this.shown=40,this.from=1,this.to=1/0,this.widths=[],this.declared=[],this.wanted=[],this.told=``,this.sized=new ResizeObserver(()=>{this.forgetWidths(),this.measure(),this.updateComplete.then(()=>this.fit())}),this.measure=()=>{let{scrollTop:e,clientHeight:t}=this.scroller;this.shown=Math.ceil(t/H)+8,this.first=Math.max(0,Math.min(Math.floor(e/H)-tr,this.rows.length-this.shown)),this.measureColumns()}}static{this.styles=[T,o`
      .scroller {
        overflow: auto;
        max-height: var(--grid-height, 70vh);
        border: 1px solid var(--line);
        border-radius: calc(2 * var(--radius));
        background: var(--raised);
        overscroll-behavior-x: contain;
      }
      .scroller:focus-visible {
        outline-offset: -2px;
      }
      .all {
        min-width: max-content;
        position: relative;
      }
      .line {
        display: grid;
        height: 30px;
        align-items: stretch;
        contain: layout style;
      }
      .titles {
        position: sticky;
        top: 0;
        z-index: 2;
        background: var(--sunken);
        border-bottom: 1px solid var(--line);
      }
      .window {
        position: absolute;
        inset-inline: 0;
      }
      .line > * {
        padding: 0 var(--s3);
        line-height: 30px;
        overflow: hidden;
        text-overflow: ellipsis;
        white-space: nowrap;
        min-width: 0;
      }
      .line > :first-child {
        position: sticky;
        left: 0;
        z-index: 1;
        background: inherit;
        border-inline-end: 1px solid var(--line);
      }
      .rest {
        grid-column: 2 / -1;
      }
      .numeric {
        text-align: end;
      }
      [role="columnheader"] {
        color: var(--quiet);
        font-size: 0.8125rem;
      }
      [role="columnheader"] button {
        all: unset;
        cursor: pointer;
        max-width: 100%;
        overflow: hidden;
        text-overflow: ellipsis;
        vertical-align: top;
      }
      [role="columnheader"] button:hover {
        color: var(--text);
      }
      [role="columnheader"] button:focus-visible {
        outline: 2px solid var(--accent);
        outline-offset: -2px;
      }
      [aria-sort] {
        color: var(--text);
        font-weight: 600;
      }
      .body .line {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        cursor: default;
      }
      .body .line:hover {
        background: var(--sunken);
      }
      .line.selected {
        font-weight: 600;
      }
      .line.picked {
        background: var(--tint) !important;
      }
      .line.rejected .cell:first-child {
        color: var(--quiet);
      }
      .line.active {
        background: var(--sunken);
      }
      .scroller:focus-visible .line.active {
        box-shadow: inset 3px 0 var(--accent);
        background: var(--tint);
      }
      .empty {
        padding: var(--s5) var(--s4);
      }
      .bar {
        display: grid;
        grid-template-columns: 1fr max-content;
        gap: var(--s2);
        align-items: center;
      }
      .bar i {
        height: 8px;
        border-radius: 2px;
        background: linear-gradient(to right, var(--bar, var(--accent)) var(--share), var(--sunken) var(--share));
        border: 1px solid var(--line);
      }
      .heat {
        display: block;
        margin: 0 calc(-1 * var(--s3));
        padding: 0 var(--s3);
        background: linear-gradient(to left, var(--heat) var(--share), transparent var(--share));
      }
    `]}connectedCallback(){super.connectedCallback(),this.updateComplete.then(()=>this.sized.observe(this.scroller))}disconnectedCallback(){super.disconnectedCallback(),this.sized.disconnect()}updated(e){e.has(`columns`)&&this.measureColumns(),(e.has(`columns`)||e.has(`rows`))&&this.fit(),this.tellRange()}willUpdate(e){e.has(`columns`)&&this.forgetWidths();let t=this.awaited===void 0?void 0:this.rows[this.awaited];t!==void 0&&([this.activeKey,this.awaited]=[this.keyOf(t),void 0]),e.has(`rows`)&&(this.first=Math.max(0,Math.min(this.first,this.rows.length-this.shown)))}render(){let e=[...this.columns.map(({width:e},t)=>this.widths[t]===void 0?e:`${this.widths[t]}px`),`auto`].join(` `),t=Math.min(this.rows.length,this.first+this.shown),n=this.activeIndex(this.first,t);return h`<div
      class="scroller"
      role="grid"
      tabindex="0"
      aria-label=${this.label}
      aria-rowcount=${this.rows.length+1}
      aria-colcount=${this.columns.length}
      aria-activedescendant=${n<0?_:`row-${n}`}
      @scroll=${this.measure}
      @keydown=${this.onKey}
    >
      <div class="all" role="presentation">
        <div class="titles line" role="row" aria-rowindex="1" .style=${`grid-template-columns: ${e}`}>
          ${this.columns.map(e=>this.heading(e))}
        </div>
        <div class="body" role="presentation" .style=${`height: ${this.rows.length*H}px`}>
          <div class="window" role="presentation" .style=${`top: ${(this.first+1)*H}px`}>
            ${Array.from({length:Math.max(0,t-this.first)},(t,r)=>this.line(this.first+r,e,n))}
          </div>
        </div>
      </div>
      ${this.rows.length?_:h`<p class="empty">${this.empty}</p>`}
    </div>`}reveal(e){if(e<0||e>=this.rows.length)return;let t=this.rows[e];[this.activeKey,this.awaited]=t===void 0?[void 0,e]:[this.keyOf(t),void 0];let n=e*H,r=this.scroller.clientHeight-60;n<this.scroller.scrollTop?this.scroller.scrollTop=n:n>this.scroller.scrollTop+r&&(this.scroller.scrollTop=n-r),this.measure()}heading(e){let t=this.sorting?.column===e.id?this.sorting:void 0,n=t&&(t.descending?`descending`:`ascending`),r=t?t.descending?` ↓`:` ↑`:``;return h`<div role="columnheader" aria-colindex=${this.columns.indexOf(e)+1} class=${e.numeric?`numeric`:``} aria-sort=${n??_} title=${e.title}>
      ${e.sortable?h`<button @click=${()=>this.tell(`mooring-sort`,e.id)}>${e.title}${r}</button>`:e.title}
    </div>`}line(e,t,n){let r=this.rows[e];return r===void 0?rr(e):h`<div
      class="line ${this.marksOf(r)} ${e===n?`active`:``}"
      role="row"
      id="row-${e}"
      aria-rowindex=${e+2}
      aria-selected=${e===n}
      .style=${`grid-template-columns: ${t}`}
      @click=${e=>this.onClick(e,r)}
    >
      ${this.columns.slice(0,1).map(e=>ir(e,r,0))} ${this.rest(r)}
    </div>`}rest(e){let t=this.restOf(e);return t?h`<div role="gridcell" class="cell rest" aria-colindex="2" aria-colspan=${this.columns.length-1}>${t}</div>`:this.columns.slice(this.from,this.to).map((t,n)=>ir(t,e,this.from+n))}activeIndex(e=0,t=this.rows.length){let{awaited:n=-1}=this;if(this.activeKey===void 0)return n>=e&&n<t?n:-1;for(let n=e;n<t;n++){let e=this.rows[n];if(e!==void 0&&this.keyOf(e)===this.activeKey)return n}return-1}tellRange(){let e=[this.first,Math.min(this.rows.length,this.first+this.shown)];this.told!==e.join()&&(this.told=e.join(),this.tell(`mooring-range`,e))}fit(){let e=this.scroller.querySelectorAll(`[role="columnheader"]`);this.widths.length||(this.declared=Array.from(e,e=>e.offsetWidth));for(let e of this.scroller.querySelectorAll(`.line > [aria-colindex]:not(.rest)`)){let t=Number(e.ariaColIndex)-1;this.wanted[t]=Math.max(this.wanted[t]??0,Math.ceil(nr(e)))}let t=this.columns.map(({width:e})=>/\dfr/.test(e)),n=er(this.scroller.clientWidth,this.declared,this.wanted,t);n.join()!==this.widths.join()&&(this.widths=n)}forgetWidths(){[this.widths,this.declared,this.wanted]=[[],[],[]]}measureColumns(){let{scrollLeft:e,clientWidth:t}=this.scroller,n=Array.from(this.scroller.querySelectorAll(`[role="columnheader"]`)),r=n=>n.offsetLeft<e+t&&n.offsetLeft+n.offsetWidth>e,i=n.flatMap((e,t)=>t&&r(e)?[t]:[]);[this.from,this.to]=[i[0]??1,(i.at(-1)??n.length)+1]}onClick(e,t){e.composedPath().some(e=>e instanceof HTMLAnchorElement)||(this.activeKey=this.keyOf(t),this.tell(`mooring-open`,t))}onKey(e){if(e.target!==this.scroller)return;let t=Math.max(1,Math.floor(this.scroller.clientHeight/H)-2),n={ArrowDown:1,ArrowUp:-1,PageDown:t,PageUp:-t,Home:-1/0,End:1/0}[e.key],r=this.activeIndex(),i=this.rows[r];if(n!==void 0)this.reveal(Math.max(0,Math.min(this.rows.length-1,r+n)));else if(e.key===`Enter`&&i!==void 0)this.tell(`mooring-open`,i);else if(e.key===` `&&i!==void 0)this.tell(`mooring-pick`,i);else return;e.preventDefault()}tell(e,t){this.dispatchEvent(new CustomEvent(e,{detail:t}))}};P([S({attribute:!1})],U.prototype,`columns`,void 0),P([S({attribute:!1})],U.prototype,`rows`,void 0),P([S({attribute:!1})],U.prototype,`keyOf`,void 0),P([S({attribute:!1})],U.prototype,`marksOf`,void 0),P([S({attribute:!1})],U.prototype,`restOf`,void 0),P([S({attribute:!1})],U.prototype,`sorting`,void 0),P([S()],U.prototype,`label`,void 0),P([S()],U.prototype,`empty`,void 0),P([C()],U.prototype,`activeKey`,void 0),P([C()],U.prototype,`first`,void 0),P([C()],U.prototype,`shown`,void 0),P([C()],U.prototype,`from`,void 0),P([C()],U.prototype,`to`,void 0),P([C()],U.prototype,`widths`,void 0),P([w(`.scroller`)],U.prototype,`scroller`,void 0),U=P([x(`mooring-grid`)],U);function nr(e){let t=e.offsetWidth-e.clientWidth;if(e.scrollWidth>e.clientWidth)return e.scrollWidth+t+1;let n=document.createRange();n.selectNodeContents(e);let r=getComputedStyle(e);return n.getBoundingClientRect().width+parseFloat(r.paddingLeft)+parseFloat(r.paddingRight)+t+1}function rr(e){return h`<div class="line" role="row" aria-rowindex=${e+2} aria-busy="true"><div role="gridcell" class="quiet">…</div></div>`}function ir(e,t,n){return h`<div
    role="gridcell"
    class=${e.numeric?`cell numeric`:`cell`}
    aria-colindex=${n+1}
    .style=${`grid-column: ${n+1}`}
  >
    ${e.cell(t)}
  </div>`}var ar=class extends b{constructor(...e){super(...e),this.totals=new Float64Array,this.sized=new ResizeObserver(()=>this.paint()),this.scheme=matchMedia(`(prefers-color-scheme: dark)`),this.repaint=()=>this.requestUpdate()}static{this.styles=[T,o`
      canvas {
        display: block;
        width: 100%;
        height: 26px;
        border-radius: var(--radius);
        background: var(--sunken);
        image-rendering: pixelated;
        --low: var(--heat);
        --high: var(--accent);
      }
    `]}connectedCallback(){super.connectedCallback(),this.scheme.addEventListener(`change`,this.repaint),addEventListener(`mooring-theme`,this.repaint),this.updateComplete.then(()=>this.sized.observe(this.canvas))}disconnectedCallback(){super.disconnectedCallback(),this.scheme.removeEventListener(`change`,this.repaint),removeEventListener(`mooring-theme`,this.repaint),this.sized.disconnect()}render(){return h`<canvas role="img" aria-label=${this.words()} @click=${this.onClick} height="1"></canvas>`}updated(){this.paint()}words(){let{low:e,high:t,scored:n}=this.range(),r=n?`totals from ${F(e)} to ${F(t)}`:`no totals`;return`${I(this.totals.length,`node`)}, ${F(n)} of them scored, ${r}; the table below has each`}range(){let[e,t,n]=[1/0,-1/0,0];for(let r of this.totals)Number.isNaN(r)||(n++,r<e&&(e=r),r>t&&(t=r));return{low:e,high:t,scored:n}}paint(){let e=Math.max(1,Math.min(this.totals.length,Math.round(this.canvas.clientWidth))),t=new Float64Array(e).fill(NaN);this.totals.forEach((n,r)=>{let i=Math.floor(r*e/this.totals.length);!(t[i]>=n)&&!Number.isNaN(n)&&(t[i]=n)});let{low:n,high:r}=this.range(),[i,a]=this.colours(),o=new ImageData(e,1);t.forEach((e,t)=>{if(Number.isNaN(e))return;let s=r>n?(e-n)/(r-n):1;for(let e=0;e<3;e++)o.data[4*t+e]=i[e]+s*(a[e]-i[e]);o.data[4*t+3]=255}),this.canvas.width=e,this.canvas.getContext(`2d`).putImageData(o,0,0)}colours(){let e=getComputedStyle(this.canvas);return[or(this.canvas,e,`--low`),or(this.canvas,e,`--high`)]}onClick(e){let t=Math.floor(e.offsetX/this.canvas.clientWidth*this.totals.length);this.dispatchEvent(new CustomEvent(`mooring-open`,{detail:t}))}};P([S({attribute:!1})],ar.prototype,`totals`,void 0),P([S({attribute:!1})],ar.prototype,`selected`,void 0),P([w(`canvas`)],ar.prototype,`canvas`,void 0),ar=P([x(`mooring-strip`)],ar);function or(e,t,n){e.style.color=`var(${n})`;let[r=0,i=0,a=0]=(t.color.match(/[\d.]+/g)??[]).map(Number);return e.style.color=``,[r,i,a]}var sr=10,cr=class extends b{constructor(...e){super(...e),this.plugins=[],this.weights=[]}static{this.styles=[T,o`
      .sliders {
        display: grid;
        grid-template-columns: minmax(5rem, max-content) minmax(5rem, 1fr) minmax(3rem, auto);
        gap: var(--s1) var(--s3);
        align-items: center;
        max-height: 21rem;
        overflow-y: auto;
      }
      label {
        overflow: hidden;
        text-overflow: ellipsis;
      }
      input {
        width: 100%;
        padding: 0;
        min-height: 1.5rem;
        accent-color: var(--accent);
        background: none;
        border: 0;
      }
      output {
        text-align: end;
        white-space: nowrap;
      }
    `]}render(){return h`<div class="sliders" tabindex="0" role="group" aria-label="Weights of plugins">
      ${this.plugins.map(({name:e,weight:t},n)=>{let r=this.weights[n],i=r===t?_:h`<span class="quiet">${t} → </span>`;return h`<label for="weight-${n}" title=${e}>${e}</label>
          <input
            id="weight-${n}"
            type="range"
            min="0"
            max=${Math.max(sr,2*t)}
            .valueAsNumber=${r}
            @input=${e=>this.change(n,e.target.valueAsNumber)}
          />
          <output for="weight-${n}">${i}${r===0?`off`:`× ${r}`}</output>`})}
    </div>`}change(e,t){let n=this.weights.map((n,r)=>r===e?t:n);this.dispatchEvent(new CustomEvent(`mooring-weights`,{detail:n}))}};P([S({attribute:!1})],cr.prototype,`plugins`,void 0),P([S({attribute:!1})],cr.prototype,`weights`,void 0),cr=P([x(`mooring-weights`)],cr);var lr=[`raw`,`normalized`,`weighted`];function ur({text:e,complete:t}){return e?h`<p class="sentence"><strong>→ ${e}</strong> ${t?_:h`<span class="quiet">there was no time to try everything</span>`}</p>`:h`<p class="sentence quiet">There was no time to find what would make it fit.</p>`}var W=class extends b{constructor(...e){super(...e),this.src=``,this.problem=``,this.weights=[],this.points=`weighted`,this.sorting={column:`total`,descending:!0},this.filter=``,this.filterProblem=``,this.pins=[],this.stages=[],this.shownColumns=[],this.rows=[]}static{this.styles=[rt,T,Gn,o`
      :host {
        background: none;
      }
      .sentence {
        font-size: 1.0625rem;
        line-height: 1.5;
        overflow-wrap: anywhere;
      }
      input[type="search"] {
        min-width: 14rem;
        flex: 1 1 14rem;
        max-width: 26rem;
      }
      mooring-grid {
        --grid-height: min(65vh, 40rem);
      }
      .legend {
        font-size: 0.8125rem;
      }
    `]}willUpdate(e){if(e.has(`src`)&&this.src&&this.fetch(),e.has(`columns`)&&this.columns?this.decode(this.columns):e.has(`advice`)&&this.showClosest(),!this.matrix)return;let t=e;(t.has(`matrix`)||t.has(`weights`))&&(this.ranking=bn(this.matrix,this.weights)),t.has(`matrix`)&&([this.stages,this.shownColumns]=[cn(this.matrix),this.gridColumns(this.matrix)]),this.rows=Dn(this.matrix,this.ranking,this.sorting,this.points,this.labelled??this.filter)}render(){if(this.problem)return h`<p class="failure" role="alert">${this.problem}</p>`;let{matrix:e}=this;return e?h`<div class="stack">
      <div class="stack tight">
        ${this.advice?ur(this.advice):_}
        <p class="sentence">${this.verdict(e)}</p>
        ${e.differences.length?h`<p class="warn">⚠ Made again, it differs from what was decided: ${e.differences.join(`; `)}</p>`:_}
        ${e.warnings.map(e=>h`<p class="warn">⚠ ${e}</p>`)}
      </div>
      ${e.podFindings.length?h`<section class="card stack tight" aria-labelledby="whatever">
            <h2 id="whatever">Whatever the node</h2>
            ${Kn(e.podFindings,this.links)}
          </section>`:_}
      <div class="columns">
        <section class="card stack tight" aria-labelledby="funnel">
          <h2 id="funnel">Which nodes are feasible</h2>
          <mooring-funnel
            .stages=${this.stages}
            .total=${e.nodes.length}
            @mooring-filter=${e=>void this.narrow(e.detail)}
          ></mooring-funnel>
        </section>
        ${e.plugins.length?this.weighing(e):_} ${e.scored.length?_:this.details(e)}
        ${e.preemptionFindings.length?h`<section class="card stack tight" aria-labelledby="preemption">
              <h2 id="preemption">Preemption</h2>
              ${Kn(e.preemptionFindings,this.links)}
            </section>`:_}
      </div>
      <section class="stack tight" aria-labelledby="nodes">
        ${this.toolbar(e)}
        ${e.scored.length?this.overview(e):_}
        <mooring-grid
          label="Nodes and what each plugin says"
          .columns=${this.shownColumns}
          .rows=${this.rows}
          .keyOf=${e=>e}
          .restOf=${t=>this.rejection(e,t)}
          .marksOf=${t=>this.marks(e,t)}
          .sorting=${this.sorting}
          empty="No node matches the filter."
          @mooring-sort=${e=>this.sort(e.detail)}
          @mooring-open=${e=>this.node=e.detail}
          @mooring-pick=${e=>this.pin(e.detail)}
        ></mooring-grid>
        <p class="quiet legend">
          ${F(this.rows.length)} of ${I(e.nodes.length,`node`)} · arrow keys move, Enter shows a node, Space pins it; two
          pinned nodes are compared${e.suffix?h` · names end in <span class="mono">${e.suffix}</span>`:_}
        </p>
      </section>
      ${e.scored.length?h`<div class="columns">${this.details(e)}</div>`:_}
    </div>`:h`<p class="quiet" role="status">Loading …</p>`}async fetch(){try{let e=await fetch(this.src);if(!e.ok)throw Error(`${this.src}: HTTP ${e.status}`);this.columns=await e.arrayBuffer()}catch(e){this.problem=e.message}}decode(e){try{this.matrix=Zt(e),this.weights=xn(this.matrix),[this.problem,this.pins,this.filter,this.labelled,this.filterProblem]=[``,[],``,void 0,``],this.showClosest()}catch(e){this.problem=e.message}}showClosest(){let{matrix:e,advice:t}=this;if(!e||e.feasible)return void(this.node=this.nearest=void 0);let n=t?e.nodes.indexOf(t.node):-1;this.node=this.nearest=n<0?nn(e):n}verdict(e){let{namespace:t=``,name:n=``}=e.pod;return h`${this.ranking.selected===void 0?h`<span class="bad">✕</span>`:h`<span class="good">✓</span>`} <strong>${t}/${n}</strong> ${jn(e,this.ranking,this.weights)}`}weighing(e){let t=this.weights.some((t,n)=>t!==e.plugins[n].weight),{selected:n}=this.ranking,r=n===e.selected?`still selects`:`would select`;return h`<section class="card stack tight" aria-labelledby="weights">
      <div class="row between">
        <h2 id="weights">What if the weights were others?</h2>
        <button ?disabled=${!t} @click=${()=>this.weights=xn(e)}>Reset</button>
      </div>
      <mooring-weights
        .plugins=${e.plugins}
        .weights=${this.weights}
        @mooring-weights=${e=>this.weights=e.detail}
      ></mooring-weights>
      <div class="row between">
        <p role="status">
          ${t&&n!==void 0?h`<strong>${r} ${B(e,n)}</strong>`:h`<span class="quiet">The weights in force</span>`}
        </p>
        ${t?h`<mooring-copy .copies=${[{name:`YAML`,text:Fn(e,this.weights)}]}></mooring-copy>`:_}
      </div>
    </section>`}toolbar(e){let t=this.nodesWith?`name, reason or labels`:`name or reason`;return h`<div class="row between">
        <h2 id="nodes">${e.plugins.length?`Nodes × plugins`:`Nodes`}</h2>
        <input
          type="search"
          aria-label="Filter nodes by ${t}"
          placeholder="Filter by ${t}"
          .value=${this.filter}
          @input=${e=>void this.narrow(e.target.value)}
        />
        ${e.scored.length?this.pointsChoice():_}
      </div>
      ${this.filterProblem?h`<p class="warn" role="status">⚠ ${this.filterProblem}</p>`:_}`}async narrow(e){if([this.filter,this.filterProblem]=[e,``],!this.nodesWith||!En(e))this.labelled=void 0;else try{let t=await this.nodesWith(e);this.filter===e&&(this.labelled=new Set(t))}catch(t){this.filter===e&&(this.filterProblem=t.message)}}overview(e){let t=e.plugins.flatMap((e,t)=>Qt(e)&&e.raw.length?[`${e.name} ${F(this.pointsOf(e,t,0))}`]:[]);return h`${t.length?h`<p class="quiet legend">Equal on all scored nodes: ${t.join(`, `)}</p>`:_}
      <mooring-strip
        .totals=${this.ranking.totals}
        @mooring-open=${e=>this.reveal(e.detail)}
      ></mooring-strip>`}pointsOf({raw:e,normalized:t},n,r){return this.points===`raw`?e[r]:t[r]*(this.points===`weighted`?this.weights[n]:1)}pointsChoice(){return h`<span class="segments" role="group" aria-label="Which scores">
      ${lr.map(e=>h`<button aria-pressed=${this.points===e} @click=${()=>this.points=e}>
            ${e[0].toUpperCase()+e.slice(1)}
          </button>`)}
    </span>`}gridColumns(e){let t=e.plugins.flatMap((t,n)=>Qt(t)?[]:[{id:`plugin-${n}`,title:t.name,width:`9rem`,numeric:!0,sortable:!0,cell:t=>this.score(e,t,n)}]),n={id:`node`,title:`Node`,width:`min(14rem, 40vw)`,sortable:!0,cell:t=>this.name(e,t)},r={id:`verdict`,title:`Verdict`,width:e.scored.length?`7.5rem`:`minmax(16rem, 1fr)`,sortable:!0,cell:e=>this.verdictOf(e)};return e.scored.length?[n,{id:`total`,title:`Total`,width:`5.5rem`,numeric:!0,sortable:!0,cell:e=>this.total(e)},r,...t]:[n,r]}name(e,t){return h`${this.pins.includes(t)?h`<span class="good" title="pinned">● </span>`:_}<span title=${e.nodes[t]}>${B(e,t)}</span>`}total(e){let t=this.ranking.totals[e];return Number.isNaN(t)?``:F(t)}score(e,t,n){let r=en(e,t);if(r<0)return _;let i=e.plugins[n],a=this.pointsOf(i,n,r);return h`<span class="heat" .style=${`--share: ${i.normalized[r]}%`}>${F(a)}</span>`}rejection(e,t){if(!e.verdicts[t])return;let n=tn(e,t).map(({plugin:e=``,message:t=``})=>`${e?`${e}: `:``}${t}`).join(`; `);return h`<span class="bad" title=${n}>✕ ${n}</span>`}verdictOf(e){return e===this.ranking.selected?h`<span class="good">✓ selected</span>`:this.ranking.ties.includes(e)?h`✓ tied`:h`<span class="quiet">✓ feasible</span>`}marks(e,t){let n=[];return t===this.ranking.selected&&n.push(`selected`),this.pins.includes(t)&&n.push(`picked`),e.verdicts[t]&&n.push(`rejected`),n.join(` `)}details(e){let[t,n]=this.pins,r=t!==void 0&&n!==void 0;return h`${this.node===void 0?_:this.detail(e,this.node)}
    ${r?this.comparison(e,t,n):_}`}detail(e,t){let n=this.pins.includes(t),r=tn(e,t);return h`<section class="card stack tight" aria-labelledby="node">
      <div class="row between">
        <h2 id="node">${t===this.nearest?`The closest: `:_}${e.nodes[t]}</h2>
        <button aria-pressed=${n} @click=${()=>this.pin(t)}>${n?`Pinned`:`Pin to compare`}</button>
      </div>
      ${r.length?h`<p><span class="bad">✕ Rejected</span>: ${I(r.length,`thing`)} in the way</p>
            ${Kn(r,this.links)}`:this.place(e,t)}
      ${this.left(e,t)}
    </section>`}place(e,t){let{selected:n,totals:r,order:i}=this.ranking;if(t===n)return h`<p class="good">✓ Selected.</p>`;if(en(e,t)<0||n===void 0)return h`<p>✓ Feasible; it was not scored.</p>`;let a=r[n]-r[t],o=i.indexOf(t)+1,s=h`<button @click=${()=>this.pins=[n,t]}>Compare with ${B(e,n)}</button>`;return h`<p>✓ Feasible: place ${F(o)}, ${a?`${F(a)} behind ${B(e,n)}`:`tied`}.</p>
      <p>${s}</p>`}left(e,t){return h`<dl class="facts">
      ${e.resources.map(({name:e,requested:n,free:r})=>h`<div>
            <dt>${e}</dt>
            <dd class=${r[t]<n?`bad`:``}>
              requests ${L(e,n)}, ${L(e,Math.max(0,r[t]))} left
            </dd>
          </div>`)}
    </dl>`}comparison(e,t,n){let r=on(e,this.weights,t,n),i=[B(e,t),B(e,n)];return h`<section class="card stack tight" aria-labelledby="comparison">
      <div class="row between">
        <h2 id="comparison">Two nodes compared</h2>
        <button @click=${()=>this.pins=[]}>Unpin both</button>
      </div>
      ${r.length?h`<mooring-comparison .first=${i[0]} .second=${i[1]} .differences=${r}></mooring-comparison>`:[t,n].map(t=>h`<p><strong>${e.nodes[t]}</strong> ${this.rejection(e,t)??this.verdictOf(t)}</p>`)}
    </section>`}pin(e){this.pins=this.pins.includes(e)?this.pins.filter(t=>t!==e):[...this.pins,e].slice(-2)}reveal(e){this.node=e,this.grid?.reveal(this.rows.indexOf(e))}sort(e){let t=this.sorting.column===e?!this.sorting.descending:e!==`node`&&e!==`verdict`;this.sorting={column:e,descending:t}}};P([S({attribute:!1})],W.prototype,`columns`,void 0),P([S()],W.prototype,`src`,void 0),P([S({attribute:!1})],W.prototype,`nodesWith`,void 0),P([S({attribute:!1})],W.prototype,`advice`,void 0),P([S({attribute:!1})],W.prototype,`links`,void 0),P([C()],W.prototype,`matrix`,void 0),P([C()],W.prototype,`problem`,void 0),P([C()],W.prototype,`weights`,void 0),P([C()],W.prototype,`points`,void 0),P([C()],W.prototype,`sorting`,void 0),P([C()],W.prototype,`filter`,void 0),P([C()],W.prototype,`labelled`,void 0),P([C()],W.prototype,`filterProblem`,void 0),P([C()],W.prototype,`pins`,void 0),P([C()],W.prototype,`node`,void 0),P([w(`mooring-grid`)],W.prototype,`grid`,void 0),W=P([x(`mooring-decision`)],W);var dr=`0.15s`,G={pod:e=>D([`pods`,...e.split(`/`)]),code:e=>D([`codes`,e])};async function fr(e,t,n){let r=await M(`SimulationService/SuggestChanges`,{pod:e,session:t,timeLimit:dr},n).catch(()=>void 0);if(!r||r.preemptionNode)return;let{options:[i]=[],complete:a=!1}=r;if(!a||i?.steps?.length)return{text:i?.text??``,node:i?.node??``,complete:a}}function K(e,t,n){let r=j(JSON.stringify(n)),i=`curl -s ${j(St(xt(t)))} -H 'content-type: application/json' -d ${r}`;return[...e?[{name:`CLI`,text:()=>pr(e)}]:[],{name:`JSON`,text:async()=>JSON.stringify(await M(t,n),void 0,2)},{name:`gRPC`,text:()=>`grpcurl -plaintext -d ${r} ${vt()} mooring.v1.${t}`},{name:`curl`,text:i}]}function pr(e){return[e,..._t()].join(` `)}var mr={"*":`anything`,Pod:`a pod`,AssignedPod:`a pod on a node`,UnscheduledPod:`a pending pod`,TargetPod:`the pod itself`,Node:`a node`},hr={Add:`is added`,Delete:`goes`,Update:`changes`,"*":`changes`,UpdateOther:`changes`,UpdateNodeAllocatable:`offers another amount`,UpdateNodeLabel:`gets other labels`,UpdateNodeTaint:`gets other taints`,UpdateNodeCondition:`gets another condition`,UpdateNodeAnnotation:`gets other annotations`,UpdateNodeDeclaredFeature:`declares other features`,UpdatePodLabel:`gets other labels`,UpdatePodScaleDown:`requests less`,UpdatePodScaleUp:`requests more`,UpdatePodToleration:`gets a toleration`,UpdatePodSchedulingGatesEliminated:`loses its gates`,UpdatePodGeneratedResourceClaim:`gets its claim`};function gr(e){let t=new Map;for(let n of e){let[,e=n,r=``]=/^(.*)\/([^/]*)$/.exec(n)??[],i=hr[r]??r.replace(/([a-z])([A-Z])/g,`$1 $2`).toLowerCase();t.set(e,[...t.get(e)??[],i])}return[...t].map(([e,t])=>`${_r(e)} ${vr(t)}`).join(`; `)}function _r(e){return mr[e]??`a ${e.replace(/^.*\//,``)}`}function vr(e){let t=[...new Set(e)];return t.length>1?`${t.slice(0,-1).join(`, `)} or ${t.at(-1)}`:t[0]??``}var yr=12,br={placed:[`✓`,`good`],rejected:[`✕`,`bad`],failed:[`⚠`,`warn`],gated:[`…`,`warn`],waits:[`…`,`warn`]},xr=o`
  .line {
    list-style: none;
    display: flex;
    flex-wrap: wrap;
    row-gap: var(--s3);
    padding: var(--s2) 0;
  }
  .line > li {
    flex: 1 1 min(100%, 14rem);
    border-top: 2px solid var(--edge);
    padding: var(--s2) var(--s4) 0 0;
    position: relative;
    overflow-wrap: anywhere;
  }
  .line > li::before {
    content: "";
    position: absolute;
    top: -6px;
    width: 10px;
    height: 10px;
    border-radius: 50%;
    background: var(--raised);
    border: 2px solid var(--edge);
  }
  .line > li.now::before {
    background: var(--accent);
    border-color: var(--accent);
  }
`,Sr=class extends b{constructor(...e){super(...e),this.namespace=``,this.name=``,this.all=!1,this.history=new N(this,e=>M(`DecisionService/GetPodHistory`,{namespace:this.namespace,name:this.name},e),{key:()=>`${this.namespace}/${this.name}`,every:5e3})}static{this.styles=[T,xr]}render(){return h`<section class="card stack tight" aria-labelledby="life">
      <h2 id="life">Its life</h2>
      ${this.history.show(e=>this.line(e))}
    </section>`}line({moments:e=[],since:t=[]}){if(!e.length)return h`<p class="quiet">Nothing is known of it before now.</p>`;let n=this.all?0:Math.max(0,e.length-yr);return h`${n?h`<p><button @click=${()=>this.all=!0}>Show ${I(n,`earlier moment`)}</button></p>`:_}
      <ol class="line">
        ${e.slice(n).map(Cr)}
      </ol>
      ${t.length?h`<p>Since its last attempt: ${t.join(`, `)}</p>`:_}`}};P([S()],Sr.prototype,`namespace`,void 0),P([S()],Sr.prototype,`name`,void 0),P([C()],Sr.prototype,`all`,void 0),Sr=P([x(`mooring-life`)],Sr);function Cr({kind:e,time:t=``,text:n=``,seq:r}){let i=k(e,`POD_MOMENT_KIND_`),[a=``,o=``]=br[i]??[],s=h`<span class=${o}>${a}</span> <strong>${i}</strong>`,c=i===`waits`?wr(n):i===`woken`?Tr(n):n;return h`<li class=${i===`waits`?`now`:``}>
    <p>
      ${r?h`<a href=${D([`decisions`,r])}>${s}</a>`:s}
      <time class="quiet" datetime=${t} title=${t}>${z(t)} ago</time>
    </p>
    <p>${c}</p>
  </li>`}function wr(e){let t=e.match(/[\w.*]+\/\w+/g);return t?`until ${gr(t)}${/, or the sweep at .*$/.exec(e)?.[0]??``}`:e}function Tr(e){return/^\w+$/.test(e)?`by ${e.replace(/(?<=[a-z])(?=[A-Z])/g,` `).toLowerCase()}`:e}async function Er(e){let{load:t}=await Pt(async()=>{let{load:e}=await import(`./js-yaml.js`);return{load:e}},[],import.meta.url),n=t(e);if(typeof n!=`object`||!n)throw Error(`A manifest is expected: a Pod, or what makes pods.`);if(n.kind===`Pod`)return n;let r=n.spec?.template??(n.spec?.jobTemplate)?.spec?.template;if(!r?.spec)throw Error(`A Pod, or what makes pods, is expected, not ${n.kind??`this`}.`);let{name:i=`pod`,namespace:a=`default`}=n.metadata??{};return{apiVersion:`v1`,kind:`Pod`,metadata:{...r.metadata,name:`${i}-what-if`,namespace:a},spec:r.spec}}async function Dr(e){let{loadAll:t}=await Pt(async()=>{let{loadAll:e}=await import(`./js-yaml.js`);return{loadAll:e}},[],import.meta.url),n=t(e).filter(Boolean).flatMap(e=>e.kind?.endsWith(`List`)?e.items??[]:[e]);if(!n.length)throw Error(`Manifests are expected, such as that of a Node; there is none.`);if(n.find(e=>typeof e!=`object`||!e.kind||!e.metadata?.name))throw Error(`Each manifest needs a kind and metadata.name.`);return n.map(e=>({...e,metadata:{...e.metadata,uid:e.metadata?.uid??Or(e)}}))}function Or({kind:e=``,metadata:t}){return`${e}/${t?.namespace??``}/${t?.name??``}`}function kr({metadata:e,spec:t}){let{podGroupName:n}=t?.schedulingGroup??{};return n?{namespace:e?.namespace??`default`,name:n}:void 0}async function Ar(e){let{dump:t}=await Pt(async()=>{let{dump:e}=await import(`./js-yaml.js`);return{dump:e}},[],import.meta.url);return t(e)}function jr(e){let t=new TextEncoder().encode(JSON.stringify(e));return{json:btoa(Array.from(t,e=>String.fromCharCode(e)).join(``))}}async function q(e,t,n,r){let{object:i}=await M(`ClusterService/GetObject`,{kind:e,namespace:t,name:n},r),a=Uint8Array.from(atob(i?.json??``),e=>e.charCodeAt(0));return JSON.parse(new TextDecoder().decode(a))}var Mr=class extends b{constructor(...e){super(...e),this.namespace=``,this.name=``,this.open=!1,this.text=new N(this,e=>this.read(e),{key:()=>`${this.namespace}/${this.name} ${this.open}`})}static{this.styles=[T]}render(){return h`<details class="card" @toggle=${e=>this.open=e.target.open}>
      <summary>Manifest, as far as scheduling reads it</summary>
      ${this.text.show(e=>h`<pre tabindex="0" aria-label="Manifest">${e}</pre>`)}
    </details>`}async read(e){return this.open?Ar(await q(`Pod`,this.namespace,this.name,e)):``}};P([S()],Mr.prototype,`namespace`,void 0),P([S()],Mr.prototype,`name`,void 0),P([C()],Mr.prototype,`open`,void 0),Mr=P([x(`mooring-manifest`)],Mr);var Nr=class extends b{constructor(...e){super(...e),this.seq=``,this.again=!1,this.record=new N(this,e=>Ir(this.seq,e),{key:()=>this.seq}),this.columns=new N(this,e=>dt(this.seq,this.again,e),{key:()=>`${this.seq} ${this.again}`}),this.attempts=new N(this,e=>this.listAttempts(e),{key:()=>A(this.record.value?.pod)})}static{this.styles=[T,xr]}willUpdate(e){e.has(`seq`)&&(this.again=!1)}render(){return h`<div class="stack">
      <div class="row between">
        <h1>Decision ${this.seq}</h1>
        <div class="row">
          <button aria-pressed=${this.again} title="Made again as of then, with every rejection of each node" @click=${()=>this.again=!this.again}>
            Make it again
          </button>
          ${this.record.value?h`<mooring-copy .copies=${this.copies(this.record.value)}></mooring-copy>`:_}
        </div>
      </div>
      ${this.record.show(e=>e?this.facts(e):_)}
      ${this.columns.show(e=>h`<mooring-decision .columns=${e} .nodesWith=${Ct} .links=${G}></mooring-decision>`)}
      ${this.columns.error&&this.record.value?Lr(this.record.value):_}
      ${this.attempts.value&&this.attempts.value.length>1?this.timeline(this.attempts.value):_}
      ${this.record.value?Rr(this.record.value):_}
    </div>`}facts(e){let{pod:t,provenance:n,node:r,queueWait:i}=e;return h`<dl class="facts">
      ${[[`Pod`,h`<a href=${D([`pods`,t?.namespace??``,t?.name??``])}>${A(t)}</a>`],[`Made`,h`<time datetime=${e.time} title=${e.time}>${z(e.time)} ago</time>`],[`Kind`,k(e.kind,`DECISION_KIND_`)],[`Node`,r?h`<a href=${D([`nodes`,r])}>${r}</a>`:``],[`Preempts`,Pr(e)],[`Attempt`,e.attempt?F(e.attempt):``],[`Waited`,i?Wt(i):``],[`Took`,Wt(e.duration)],[`Profile`,h`<a href=${D([`profiles`])}>${n?.profile??``}</a>`],[`Configuration`,Fr(n?.configurationHash??``)],[`State`,`version ${n?.stateVersion??0}`],[`Trace`,e.traceId??``]].map(([e,t])=>t?h`<div><dt>${e}</dt><dd>${t}</dd></div>`:_)}
    </dl>`}copies(e){let t=e.attempt?` --attempt ${e.attempt}`:``;return[{name:`CLI`,text:()=>pr(`mooring explain ${j(A(e.pod))}${t}`)},{name:`JSON`,text:JSON.stringify(e,void 0,2)},{name:`curl`,text:`curl -s ${j(St(`decisions/${this.seq}/columns`))}`}]}timeline(e){return h`<section class="card stack tight" aria-labelledby="attempts">
      <h2 id="attempts">All decisions about this pod</h2>
      <ol class="line">
        ${e.map((t,n)=>{let[r,i]=[t,e[n-1]].map(e=>e?.provenance?.configurationHash??``),{mark:a,text:o,tone:s}=lt(t),c=t.seq===this.seq;return h`<li class=${c?`now`:``}>
            <a href=${D([`decisions`,t.seq])} aria-current=${c?`true`:_} title=${o}>
              <span class=${s}>${a}</span> ${o}</a
            >
            <span class="quiet">${k(t.kind,`DECISION_KIND_`)}, ${z(t.time)} ago</span>
            ${i&&i!==r?Fr(i,r):_}
          </li>`})}
      </ol>
    </section>`}async listAttempts(e){let t=this.record.value?.pod;return t?(await M(`DecisionService/ListDecisions`,{filter:{namespace:t.namespace??``,pod:t.name??``},limit:50},e)).decisions??[]:[]}};P([S()],Nr.prototype,`seq`,void 0),P([C()],Nr.prototype,`again`,void 0),Nr=P([x(`mooring-decision-view`)],Nr);function Pr({victims:e=[],nominatedNode:t=``,violatedBudgets:n=[]}){if(!e.length)return``;let r=n.length?`, against ${n.join(`, `)}`:``;return h`${e.map((e,t)=>h`${t?`, `:_}<a href=${G.pod(e)}>${e}</a>`)} on
    <a href=${D([`nodes`,t])}>${t}</a>${r}`}function Fr(e,t=``){if(!e)return _;let n=t?`another configuration`:h`<span class="mono">${e.slice(0,8)}</span>`;return h`<a href=${D([`profiles`],{from:e,to:t})} title="What differs ${t?`between them`:`today`}">${n}</a>`}async function Ir(e,t){return(await M(`DecisionService/ListDecisions`,{afterSeq:String(Number(e)-1),limit:1},t)).decisions?.find(t=>t.seq===e)}function Lr({pod:e}){return h`<p><a href=${D([`pods`,e?.namespace??``,e?.name??``])}>Explain ${A(e)} as of now</a></p>`}function Rr({pod:e}){return h`<mooring-manifest .namespace=${e?.namespace??``} .name=${e?.name??``}></mooring-manifest>`}var zr=500,Br=1e3,Vr=`15s`,Hr=500,Ur=2e3,Wr=[`DECISION_RESULT_SCHEDULED`,`DECISION_RESULT_UNSCHEDULABLE`,`DECISION_RESULT_ERROR`,`DECISION_RESULT_FAILED`],Gr=[[`namespace`,`Namespace`],[`pod`,`Pod`],[`selector`,`Labels`],[`node`,`Node`],[`profile`,`Profile`],[`plugin`,`Rejected by`],[`margin`,`Margin at most`]],J=class extends b{constructor(...e){super(...e),this.query=new URLSearchParams,this.shown=[],this.waiting=[],this.paused=!1,this.missed=0,this.loaded=!1,this.abort=new AbortController,this.take=()=>{this.shown=[...this.waiting,...this.shown].slice(0,zr),this.waiting=[]},this.pause=()=>{this.paused=!this.paused,this.paused||this.take()},this.onFacet=e=>{let{name:t,value:n}=e.target;O({[t]:n})}}static{this.styles=[T,o`
      .facets {
        display: grid;
        grid-template-columns: repeat(auto-fill, minmax(8rem, 1fr));
      }
      .facets > label {
        display: grid;
        font-size: 0.8125rem;
        color: var(--quiet);
      }
      .facets input,
      .facets select {
        width: 100%;
        color: var(--text);
      }
      mooring-grid {
        --grid-height: calc(100vh - 16rem);
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.abort.abort()}willUpdate(e){e.has(`query`)&&this.query.toString()!==this.asked&&this.begin()}render(){return h`<div class="stack">
      <div class="row between">
        <h1>Decisions</h1>
        <div class="row">
          <span class="quiet" role="status">${this.progress()}</span>
          ${this.waiting.length?h`<button class="primary" @click=${this.take}>Show ${I(this.waiting.length,`new one`)}</button>`:_}
          <button aria-pressed=${this.paused} @click=${this.pause}>${this.paused?`Paused`:`Pause`}</button>
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      <form class="row facets" @submit=${e=>e.preventDefault()} @input=${this.onFacet}>
        ${Gr.map(([e,t])=>h`<label>${t}<input name=${e} autocomplete="off" spellcheck="false" .value=${this.query.get(e)??``} /></label>`)}
        <label
          >Result<select name="result">
            <option value="">all</option>
            ${Wr.map(e=>{let t=k(e,`DECISION_RESULT_`);return h`<option value=${t} ?selected=${this.query.get(`result`)===t}>${t}</option>`})}
          </select></label
        >
      </form>
      ${this.error?Ot(this.error,()=>this.begin()):_}
      ${Jr(`Decisions, the newest first`,this.shown,this.error?`Nothing was listed.`:this.loaded?`No decision yet, or none that matches.`:`Loading …`)}
    </div>`}progress(){let e=this.missed?` · ${F(this.missed)} passed over`:``;return`${F(this.shown.length)} shown${e}`}copies(){let e=[...this.query].filter(([e,t])=>e!==`process`&&t).map(([e,t])=>`--${e} ${j(t)}`),t={filter:this.filter()};return K([`mooring decisions`,...e].join(` `),`DecisionService/ListDecisions`,t)}filter(){let e={},t=e=>this.query.get(e)?.trim()??``;for(let n of[`namespace`,`pod`,`node`,`profile`])t(n)&&(e[n]=t(n));/^\d+$/.test(t(`margin`))&&(e.maxMargin=t(`margin`)),t(`selector`)&&(e.labelSelector=t(`selector`)),t(`plugin`)&&(e.rejectingPlugin=t(`plugin`));let n=Wr.find(e=>k(e,`DECISION_RESULT_`)===t(`result`));return n&&(e.results=[n]),e}begin(){this.abort.abort(),this.abort=new AbortController,this.asked=this.query.toString(),[this.waiting,this.missed,this.error]=[[],0,void 0],this.follow(this.abort.signal)}async follow(e){let t;for(;!e.aborted;){try{let n=await this.ask(t,e);if(t&&n.journalId!==t.journalId)return this.begin();t||(this.shown=[]),this.add(n.decisions??[],this.paused&&t!==void 0),t={...n,nextAfterSeq:this.goOn(n)}}catch(t){e.aborted||(this.error=t)}await qr(this.error||t?.waitRefused?Ur:Hr)}}ask(e,t){let n={filter:this.filter(),limit:zr};return e&&Object.assign(n,{afterSeq:e.nextAfterSeq??`0`,wait:Vr}),M(`DecisionService/ListDecisions`,n,t)}goOn({nextAfterSeq:e=`0`,lastSeq:t=`0`,missedCount:n=`0`}){let r=Math.max(0,Number(t)-Number(e)-zr);return this.missed+=Number(n)+r,String(Number(e)+r)}add(e,t){if(this.loaded=!0,this.error=void 0,!e.length)return;let n=[...e].reverse();t?this.waiting=[...n,...this.waiting].slice(0,zr):this.shown=[...n,...this.shown].slice(0,zr)}};P([S({attribute:!1})],J.prototype,`query`,void 0),P([C()],J.prototype,`shown`,void 0),P([C()],J.prototype,`waiting`,void 0),P([C()],J.prototype,`paused`,void 0),P([C()],J.prototype,`missed`,void 0),P([C()],J.prototype,`loaded`,void 0),P([C()],J.prototype,`error`,void 0),J=P([x(`mooring-decisions`)],J);async function Kr(e){try{return(await M(`DecisionService/ListDecisions`,{limit:Br},e)).decisions??[]}catch{return e.throwIfAborted(),[]}}function qr(e){return new Promise(t=>setTimeout(t,e))}function Jr(e,t,n=`None is remembered.`){return h`<mooring-grid
    label=${e}
    .columns=${Yr}
    .rows=${t}
    .keyOf=${e=>e.seq}
    empty=${n}
    @mooring-open=${e=>location.hash=D([`decisions`,e.detail.seq])}
  ></mooring-grid>`}var Yr=[{id:`pod`,title:`Pod`,width:`min(11rem, 42vw)`,cell:({pod:e,seq:t})=>h`<a tabindex="-1" href=${D([`decisions`,t])} title=${A(e)}>${A(e)}</a>`},{id:`outcome`,title:`Outcome`,width:`minmax(14rem, 1fr)`,cell:e=>{let{mark:t,text:n,tone:r}=lt(e);return h`<span class=${r} title=${n}>${t} ${n}</span>`}},{id:`time`,title:`Time`,width:`6rem`,cell:({time:e})=>h`<time datetime=${e} title=${`${z(e)} ago`}>${Xr(e)}</time>`},{id:`kind`,title:`Kind`,width:`5.5rem`,cell:({kind:e})=>k(e,`DECISION_KIND_`)},{id:`margin`,title:`Margin`,width:`5rem`,numeric:!0,cell:({node:e,tieCount:t=0,runnerUpNode:n,total:r=`0`,runnerUpTotal:i=`0`})=>e&&t>1?h`<span title="${I(t,`node`)} had the highest total">tied</span>`:n?F(Number(r)-Number(i)):``},{id:`feasible`,title:`Feasible`,width:`7.5rem`,numeric:!0,cell:({feasibleCount:e=0,evaluatedCount:t=0})=>t?`${F(e)} of ${F(t)}`:F(e)},{id:`attempt`,title:`Attempt`,width:`5rem`,numeric:!0,cell:({attempt:e})=>e?F(e):``},{id:`duration`,title:`Took`,width:`6rem`,numeric:!0,cell:e=>Wt(e.duration)},{id:`profile`,title:`Profile`,width:`8rem`,cell:({provenance:e})=>e?.profile??``}];function Xr(e){return e?new Date(e).toLocaleTimeString(`en-GB`):``}var Zr=200,Qr=class{constructor(e,t){this.request=e,this.signal=t,this.rows=[],this.unplaced=0,this.token=``,this.asked=new Set}async read(e,t){let n=!1;for(let r=Math.floor(e/Zr);r*Zr<Math.max(t,1);r++)n=await this.page(r)||n;return n}async page(e){if(this.asked.has(e))return!1;this.asked.add(e);try{return this.take(e,await this.ask(e)),!0}catch(t){throw this.asked.delete(e),t}}async ask(e){let t={...this.request,pageSize:Zr,skip:e*Zr};try{return await M(`ClusterService/ListPods`,{...t,pageToken:this.token},this.signal)}catch(e){if(!(e instanceof ut&&e.reason===`PAGE_TOKEN_STALE`))throw e;return this.token=``,M(`ClusterService/ListPods`,t,this.signal)}}take(e,{pods:t=[],podCount:n=0,unplacedCount:r=0,nextPageToken:i=``}){this.token||=i,this.unplaced=r;let a=this.rows.slice();a.length=n,t.forEach((t,n)=>a[e*Zr+n]=t),this.rows=a}},$r=1e4,Y=class extends b{constructor(...e){super(...e),this.request={},this.label=`Pods`,this.empty=`No pod matches.`,this.decisions=new Map,this.range=[0,1],this.pods=new N(this,e=>this.read(e),{key:()=>JSON.stringify(this.request),every:$r}),this.columns=this.columnsOf()}static{this.styles=[T,o`
      mooring-grid {
        --grid-height: var(--list-height, calc(100vh - 15rem));
      }
    `]}render(){return h`<div class="stack tight">
      ${this.pods.show(e=>h`<p class="quiet">${I(e.rows.length,`pod`)}${e.unplaced?h`, ${F(e.unplaced)} without a node`:_}</p>
            <mooring-grid
              label=${this.label}
              .columns=${this.columns}
              .rows=${e.rows}
              .keyOf=${e=>A(e.pod)}
              empty=${this.empty}
              @mooring-range=${t=>void this.inSight(e,t.detail)}
              @mooring-open=${e=>location.hash=X(e.detail.pod)}
            ></mooring-grid>`)}
    </div>`}async read(e){let t=new Qr(this.request,e),[n]=await Promise.all([Kr(e),t.read(...this.range)]);return this.decisions=new Map(n.map(e=>[A(e.pod),e])),t}async inSight(e,t){this.range=t,await e.read(...t).catch(()=>!1)&&this.requestUpdate()}columnsOf(){let e=({pod:e})=>this.decisions.get(A(e));return[{id:`pod`,title:`Pod`,width:`min(11rem, 42vw)`,cell:({pod:e})=>h`<a tabindex="-1" href=${X(e)} title=${A(e)}>${A(e)}</a>`},{id:`node`,title:`Node`,width:`8rem`,cell:ei},{id:`outcome`,title:`Last decision`,width:`minmax(14rem, 1fr)`,cell:t=>{let n=e(t);if(!n)return h`<span class="quiet">none remembered</span>`;let{mark:r,text:i,tone:a}=lt(n);return h`<span class=${a} title=${i}>${r} ${i}</span> <span class="quiet">${z(n.time)} ago</span>`}},{id:`cpu`,title:`CPU`,width:`4.5rem`,numeric:!0,cell:e=>ti(e,`cpu`)},{id:`memory`,title:`Memory`,width:`5.5rem`,numeric:!0,cell:e=>ti(e,`memory`)},{id:`age`,title:`Age`,width:`5rem`,numeric:!0,cell:({creationTime:e})=>z(e)},{id:`priority`,title:`Priority`,width:`5rem`,numeric:!0,cell:({priority:e=0})=>F(e)},{id:`owner`,title:`Owner`,width:`9rem`,cell:({pod:e,controllerKind:t,controllerName:n})=>ni(e,t,n)}]}};P([S({attribute:!1})],Y.prototype,`request`,void 0),P([S()],Y.prototype,`label`,void 0),P([S()],Y.prototype,`empty`,void 0),P([C()],Y.prototype,`decisions`,void 0),Y=P([x(`mooring-pod-list`)],Y);function ei({node:e,assumed:t}){return e?h`${t?h`<span class="quiet" title="Placed by a decision that its source has not confirmed yet">… </span>`:_}<a tabindex="-1" href=${D([`nodes`,e])} title=${e}>${e}</a>`:h`<span class="warn">… pending</span>`}function ti({requests:e={}},t){return e[t]?L(t,Number(e[t])):``}function X(e){return D([`pods`,e?.namespace??``,e?.name??``])}function ni(e,t,n){return t?h`<a tabindex="-1" href=${ri(e?.namespace,t,n)} title="${t} ${n??``}">${t} ${n}</a>`:_}function ri(e,t,n){return D([`owners`,e??``,t,n??``])}var ii=12,ai=class extends b{constructor(...e){super(...e),this.name=``,this.facts=new N(this,e=>ci(this.name,e),{key:()=>this.name}),this.verdicts=new N(this,e=>li(this.name,e),{key:()=>this.name}),this.selections=new N(this,e=>this.listSelections(e),{key:()=>this.name,every:1e4})}static{this.styles=[T,Gn,o`
      .usage {
        display: grid;
        grid-template-columns: minmax(4rem, max-content) minmax(5rem, 1fr) max-content;
        gap: var(--s1) var(--s3);
        align-items: center;
      }
      .track {
        height: 10px;
        border-radius: 2px;
        background: linear-gradient(to right, var(--accent) var(--share), var(--sunken) var(--share));
      }
      .labels {
        list-style: none;
        display: flex;
        flex-wrap: wrap;
        gap: var(--s1);
      }
      .labels li {
        background: var(--sunken);
        border-radius: var(--radius);
        padding: 0 var(--s2);
        overflow-wrap: anywhere;
      }
      mooring-pod-list {
        --list-height: 40vh;
      }
      .verdicts {
        list-style: none;
      }
      .verdicts > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
      }
      .verdicts p {
        overflow-wrap: anywhere;
      }
    `]}render(){return h`<div class="stack">
      <div class="row between">
        <h1>${this.name}</h1>
        <div class="row">
          <a href=${D([`what-if`],{node:this.name})}>What if it goes?</a>
          <mooring-copy
            .copies=${[...K(`mooring decisions --node ${j(this.name)}`,`DecisionService/ListDecisions`,{filter:{node:this.name}}),{name:`kubectl`,text:`kubectl describe node ${j(this.name)}`}]}
          ></mooring-copy>
        </div>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="room">
          <h2 id="room">What its pods request</h2>
          ${this.facts.show(e=>oi(e))}
        </section>
        <section class="card stack tight" aria-labelledby="why">
          <h2 id="why">${this.selections.value?.length?`What of the pods that wait?`:`Why does nothing land here?`}</h2>
          ${this.verdicts.show(e=>si(e))}
        </section>
      </div>
      <section class="stack tight" aria-labelledby="pods">
        <h2 id="pods">Its pods</h2>
        <mooring-pod-list .request=${{node:this.name}} label="Pods on this node" empty="No pod is on it."></mooring-pod-list>
      </section>
      <section class="stack tight" aria-labelledby="selections">
        <h2 id="selections">Decisions that selected it</h2>
        ${this.selections.show(e=>Jr(`Decisions that selected this node, the newest first`,e))}
      </section>
    </div>`}async listSelections(e){return((await M(`DecisionService/ListDecisions`,{filter:{node:this.name},limit:200},e)).decisions??[]).reverse()}};P([S()],ai.prototype,`name`,void 0),ai=P([x(`mooring-node`)],ai);function oi({node:e,usages:t}){let n=e.spec?.taints??[];return h`${e.spec?.unschedulable?h`<p class="warn">⚠ Cordoned: it takes no new pods.</p>`:_}
    ${n.map(({key:e,value:t,effect:n})=>h`<p class="warn">⚠ Taint <span class="mono">${e}${t?`=${t}`:``}:${n}</span></p>`)}
    <div class="usage">
      ${t.map(({resource:e,used:t,all:n})=>h`<span>${e}</span>
            <span class="track" aria-hidden="true" .style=${`--share: ${n?100*t/n:0}%`}></span>
            <span>${L(e,t)} of ${L(e,n)}</span>`)}
    </div>
    <ul class="labels mono" aria-label="Labels">
      ${Object.entries(e.metadata?.labels??{}).map(([e,t])=>h`<li>${e}=${t}</li>`)}
    </ul>`}function si(e){return e.length?h`<ul class="verdicts">
    ${e.map(({pod:e,count:t,findings:n})=>h`<li class="stack tight">
          <p>
            <a href=${X(e)}>${A(e)}</a>${t>1?h` <span class="quiet">and ${F(t-1)} more</span>`:_}
            ${n.length?_:h`<span class="good">✓ would be taken</span>`}
          </p>
          ${n.length?Kn(n,G):_}
        </li>`)}
  </ul>`:h`<p class="empty">✓ No pod waits for a node.</p>`}async function ci(e,t){let n=await q(`Node`,``,e,t),r=n.status?.allocatable??{},i=Object.fromEntries(Object.keys(r).filter(e=>e!==`pods`).map(e=>[e,e===`cpu`?`1m`:`1`])),{resources:a=[]}=await di(e,{object:jr({apiVersion:`v1`,kind:`Pod`,metadata:{name:`probe`,namespace:`default`},spec:{containers:[{name:`probe`,resources:{requests:i,limits:i}}]}})},t);return{node:n,usages:a.map(({name:e=``,free:t=[]})=>{let n=Vt(e,r[e]??`0`);return{resource:e,all:n,used:n-Number(t[0]??0)}})}}async function li(e,t){let{groups:n=[]}=await M(`DecisionService/SummarizeReasons`,{limit:ii,askNow:!0},t),r=n.flatMap(e=>e.examples?.[0]?[[e,e.examples[0]]]:[]);return Promise.all(r.map(async([{podCount:n=1},r])=>({pod:r,count:n,findings:ui(await di(e,{reference:r},t))})))}function ui({verdicts:e,rejections:t,findings:n}){let r=[...n?.ofPod??[],...n?.distinct??[]],i=[...new Set(t?.verdicts??e?.nodeVerdicts??[])].filter(Boolean).map(t=>e.distinct[t]).filter(({plugin:e})=>!r.some(t=>t.plugin===e));return[...r,...i.flatMap(({plugin:e=``,reasons:t=[]})=>t.map(t=>({plugin:e,message:t})))]}function di(e,t,n){return M(`SchedulingService/Explain`,{pod:t,nodes:{names:{names:[e]}},allRejections:!0},n)}function fi({nodes:e,usage:t}){let{resources:n=[],zones:r=[],zonePositions:i=[],taints:a=[],taintPositions:o=[],cordonedPositions:s=[]}=t??{},c=n.map(({allocatable:e=[],requested:t=[]})=>[e.map(Number),t.map(Number)]),l=new Set(s),u=(e?.names?.names??[]).map((e,t)=>({name:e,zone:r[i[t]??0]??``,taints:a[o[t]??0]??``,cordoned:l.has(t),offers:c.map(([e])=>e[t]??0),takes:c.map(([,e])=>e[t]??0)}));return{resources:n.map(({name:e=``})=>e),rows:u}}function pi(e){return[...[`cpu`,`memory`,`pods`].filter(t=>e.includes(t)),...e.filter(e=>e.includes(`/`)).slice(0,3)]}var mi=/^([a-z][\w./-]*)>=?(\d[\w.]*)$/;function hi(e){let t={words:[],room:[]};for(let n of e.trim().split(/\s+/).filter(Boolean)){let[,e=``,r=``]=mi.exec(n)??[],i=e?Vt(e,r):NaN;Number.isNaN(i)?t.words.push(n.toLowerCase()):t.room.push({resource:e,least:i})}return t}function gi(e){return e.split(/\s+/).some(e=>mi.test(e))}function _i({resources:e,rows:t},{words:n,room:r}){let i=r.map(({resource:t,least:n})=>({least:n,at:e.findIndex(e=>e===t||e.endsWith(`/${t}`))}));return t.filter(e=>{if(!i.every(({at:t,least:n})=>t>=0&&e.offers[t]-e.takes[t]>=n))return!1;if(!n.length)return!0;let t=`${e.name} ${e.zone} ${e.taints} ${e.cordoned?`cordoned`:``}`.toLowerCase();return n.every(e=>t.includes(e))})}function vi(e,t){let n=e.offers[t]??0;return n?e.takes[t]/n:-1}var yi=class extends b{constructor(...e){super(...e),this.query=new URLSearchParams,this.sorting={column:`name`,descending:!1},this.shown=[],this.nodes=new N(this,e=>Ei(this.selector(),e),{every:1e4,key:()=>this.selector()})}static{this.styles=[T,o`
      mooring-grid {
        --grid-height: calc(100vh - 13rem);
      }
      input {
        width: min(24rem, calc(100vw - 2 * var(--s4)));
      }
    `]}willUpdate(){let{value:e}=this.nodes;if(!e)return;let t=this.selector()?``:this.given();this.shown=_i(e.nodes,hi(t)).sort(this.compare(e))}render(){return h`<div class="stack tight">
      <div class="row between">
        <h1>Nodes</h1>
        <div class="row">
          <input
            type="search"
            aria-label="Filter by name, zone, taint, room or labels"
            placeholder="Filter: words, cpu>2, zone=a"
            title="Words in the name, zone or taints; room, such as cpu>2 memory>4Gi; labels, such as disk=ssd"
            .value=${this.given()}
            @input=${e=>O({name:e.target.value})}
          />
          <mooring-copy .copies=${this.copies()}></mooring-copy>
        </div>
      </div>
      ${this.nodes.show(({nodes:e,suffix:t,columns:n})=>h`<p class="quiet">
              ${this.shown.length===e.rows.length?_:`${F(this.shown.length)} of `}${I(e.rows.length,`node`)}; bars show
              what pods request${t?h` · names end in <span class="mono">${t}</span>`:_}
            </p>
            <mooring-grid
              label="Nodes"
              .columns=${n}
              .rows=${this.shown}
              .keyOf=${e=>e.name}
              .sorting=${this.sorting}
              empty="No node matches."
              @mooring-sort=${e=>this.sort(e.detail)}
              @mooring-open=${e=>location.hash=D([`nodes`,e.detail.name])}
            ></mooring-grid>`)}
    </div>`}copies(){let e=this.selector(),t=`kubectl get nodes${e?` -l ${j(e)}`:``}`;return[...K(``,`ClusterService/ListNodes`,{includeUsage:!0,...e?{labelSelector:e}:{}}),{name:`kubectl`,text:t}]}given(){return this.query.get(`name`)??``}selector(){let e=this.given();return En(e)&&!gi(e)?e:``}sort(e){let t=[`name`,`zone`,`taints`].includes(e),n=this.sorting.column===e?!this.sorting.descending:!t;this.sorting={column:e,descending:n}}compare({nodes:e,selected:t}){let{column:n,descending:r}=this.sorting,i=xi(n,e.resources,t);return(e,t)=>(r?-1:1)*i(e,t)||bi.compare(e.name,t.name)}};P([S({attribute:!1})],yi.prototype,`query`,void 0),P([C()],yi.prototype,`sorting`,void 0),yi=P([x(`mooring-nodes`)],yi);var bi=new Intl.Collator(`en`,{numeric:!0});function xi(e,t,n){if(e===`name`)return(e,t)=>bi.compare(e.name,t.name);if(e===`zone`)return(e,t)=>bi.compare(e.zone,t.zone);if(e===`taints`)return(e,t)=>Number(t.cordoned)-Number(e.cordoned)||bi.compare(t.taints,e.taints);if(e===`selected`)return(e,t)=>(n.get(e.name)?.count??0)-(n.get(t.name)?.count??0);let r=t.indexOf(e);return(e,t)=>vi(e,r)-vi(t,r)}function Si({resources:e,rows:t},n,r){return[{id:`name`,title:`Node`,width:`min(13rem, 45vw)`,sortable:!0,cell:({name:e})=>h`<a tabindex="-1" href=${D([`nodes`,e])} title=${e}>${e.slice(0,e.length-n.length)}</a>`},...t.some(({zone:e})=>e)?[{id:`zone`,title:`Zone`,width:`7rem`,sortable:!0,cell:({zone:e})=>h`<span title=${e}>${e}</span>`}]:[],...pi(e).map(t=>Ci(t,e.indexOf(t))),{id:`taints`,title:`Keeps pods away`,width:`minmax(11rem, 1fr)`,sortable:!0,cell:wi},{id:`selected`,title:`Selected`,width:`6rem`,numeric:!0,sortable:!0,cell:({name:e})=>F(r.get(e)?.count??0)},{id:`last`,title:`Last selected for`,width:`minmax(11rem, 1fr)`,cell:({name:e})=>Ti(r.get(e))}]}function Ci(e,t){return{id:e,title:{cpu:`CPU`,memory:`Memory`,pods:`Pods`}[e]??e,width:`10.5rem`,sortable:!0,cell:n=>{let[r,i]=[n.offers[t],n.takes[t]];if(!r)return h`<span class="quiet">none</span>`;let[a,o]=[L(e,i),L(e,r)],s=i>=r?`; --bar: var(--bad)`:``;return h`<span class="bar" title="${a} of ${o} requested, ${L(e,Math.max(0,r-i))} left"
        ><i .style=${`--share: ${Math.min(100,100*i/r)}%${s}`}></i><span>${a} / ${o}</span></span
      >`}}}function wi({cordoned:e,taints:t}){return!e&&!t?_:h`${e?h`<span class="warn">⚠ cordoned</span> `:_}<span class="mono" title=${t}>${t}</span>`}function Ti(e){if(!e)return h`<span class="quiet">–</span>`;let{last:t}=e;return h`<a tabindex="-1" href=${D([`decisions`,t.seq])} title=${A(t.pod)}>${A(t.pod)}</a>
    <span class="quiet">${z(t.time)} ago</span>`}async function Ei(e,t){let n={includeUsage:!0,...e?{labelSelector:e}:{}},[r,i]=await Promise.all([M(`ClusterService/ListNodes`,n,t),Kr(t)]),a=fi(r),o=Yt(a.rows.map(({name:e})=>e)),s=new Map;for(let e of i)e.node&&s.set(e.node,{last:e,count:(s.get(e.node)?.count??0)+1});return{nodes:a,suffix:o,selected:s,columns:Si(a,o,s)}}var Di=4;function Oi(e){let t=new Map;e.forEach(({causes:n=[]},r)=>{for(let{plugin:i=``,reason:a=``,podCount:o=0}of n){let n=[i,a].filter(Boolean).join(`: `)||`no reason`,s=t.get(n)??e.map(()=>0);t.set(n,s),s[r]+=o}});let n=[...t].map(([e,t])=>({name:e,values:t})).sort((e,t)=>ki(t.values)-ki(e.values)).slice(0,Di),r=e.map(({pendingCount:e=0},t)=>e-ki(n.map(({values:e})=>e[t])));return r.some(e=>e>0)?[...n,{name:`other causes`,values:r}]:n}function ki(e){return e.reduce((e,t)=>e+t,0)}function Ai(e){return e===void 0?NaN:parseFloat(e)}function ji(e){let t=e[0]?.values.map(()=>0)??[];return e.map(({values:e})=>{let n=t;return t=e.map((e,t)=>e+n[t]),{lower:n,upper:t}})}function Mi(e){return Math.max(Number.MIN_VALUE,...e.filter(e=>!Number.isNaN(e)))}var Ni={"10 min":1/6,"1 h":1,"6 h":6,"24 h":24},Pi=60,Fi=15e3,Ii=100,Li=class extends b{constructor(...e){super(...e),this.chosen=``,this.first=``,this.line=new N(this,e=>this.read(e),{key:()=>this.window(),every:Fi})}static{this.styles=[T,o`
      .plots {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
        gap: var(--s4);
      }
      svg {
        display: block;
        width: 100%;
        height: 96px;
        border-bottom: 1px solid var(--edge);
      }
      .series-0 {
        color: light-dark(#0b6679, #5cc3d8);
      }
      .series-1 {
        color: light-dark(#b3261e, #ff8f86);
      }
      .series-2 {
        color: light-dark(#8a5300, #f0b45b);
      }
      .series-3 {
        color: light-dark(#1f6e3c, #6fcf93);
      }
      .series-4 {
        color: light-dark(#56616c, #9aa6b1);
      }
      .legend {
        list-style: none;
      }
      .legend li {
        display: grid;
        grid-template-columns: 0.75rem minmax(0, 1fr) max-content;
        gap: var(--s2);
        overflow-wrap: anywhere;
      }
    `]}render(){return h`<section class="stack tight" aria-labelledby="hours">
      <div class="row between">
        <h2 id="hours">The last hours</h2>
        <div class="row">
          <span class="segments" role="group" aria-label="How far back">
            ${Object.keys(Ni).map(e=>h`<button aria-pressed=${e===this.window()} @click=${()=>this.chosen=e}>${e}</button>`)}
          </span>
          <mooring-copy .copies=${K(``,`DecisionService/GetTimeLine`,this.request())}></mooring-copy>
        </div>
      </div>
      ${this.line.show(e=>this.plots(e))}
    </section>`}window(){let e=(Date.now()-Date.parse(this.first))/6e4;return this.chosen||(e<10?`10 min`:`1 h`)}request(){return{window:`${3600*Ni[this.window()]}s`,spanCount:Pi}}async read(e){let t=await M(`DecisionService/GetTimeLine`,this.request(),e);return this.first=t.firstTime??``,t}plots({spans:e=[],firstTime:t}){let n=60*Ni[this.window()]/Pi,r=n<1?`in ${R(60*n)}`:n===1?`a minute`:`in ${F(n)} min`,i=(t,n)=>({name:t,values:e.map(n)}),a=`${this.window()} ago`;return h`<div class="plots">
        ${zi(`Pending pods, by cause`,a,Oi(e),F,!0)}
        ${zi(`Decisions ${r}`,a,[i(`made`,({decisionCount:e=0})=>e),i(`that placed a pod`,({placedCount:e=0})=>e)],F)}
        ${zi(`How long a decision took`,a,[i(`99 of 100 took at most`,e=>Ai(e.durationP99)),i(`half took at most`,e=>Ai(e.durationP50))],R)}
        ${e.some(({waitP50:e})=>e)?zi(`How long placed pods had been ready`,a,[i(`99 of 100 at most`,e=>Ai(e.waitP99)),i(`half at most`,e=>Ai(e.waitP50))],R):_}
      </div>
      <p class="quiet">${Ri(t)}</p>`}};P([C()],Li.prototype,`chosen`,void 0),Li=P([x(`mooring-time-line`)],Li);function Ri(e){return e?`Decisions are remembered since ${new Date(e).toLocaleString(`en-GB`)}.`:`No decision is remembered.`}function zi(e,t,n,r,i=!1){let a=i?ji(n):n.map(({values:e})=>({lower:[],upper:e})),o=Mi(a.flatMap(({upper:e})=>e));return h`<figure class="card stack tight">
    <figcaption class="row between"><strong>${e}</strong><span class="quiet">${n.some(({values:e})=>e.some(e=>e>0))?`at most ${r(o)}`:`none`}</span></figcaption>
    <svg viewBox="0 0 ${Math.max(1,(n[0]?.values.length??1)-1)} ${Ii}" preserveAspectRatio="none" aria-hidden="true">
      ${a.map(({lower:e,upper:t},n)=>i?Vi(e,t,o,n):Hi(t,o,n))}
    </svg>
    <div class="row between quiet"><span>${t}</span><span>now</span></div>
    <ul class="legend">
      ${n.map(({name:e,values:t},n)=>h`<li><span class="series-${n}" aria-hidden="true">■</span><span>${e}</span><span>${Bi(t,r)}</span></li>`)}
    </ul>
  </figure>`}function Bi(e,t){let n=e.at(-1)??NaN;if(!Number.isNaN(n))return`${t(n)} now`;let r=e.filter(e=>!Number.isNaN(e));return r.length?`${t(r.at(-1))} last`:`none`}function Vi(e,t,n,r){return je`<polygon class="series-${r}" points=${[...t.map((e,t)=>Ui(t,e,n)),...e.map((e,t)=>Ui(t,e,n)).reverse()].join(` `)} fill="currentColor" fill-opacity="0.75" />`}function Hi(e,t,n){let r=[[]];return e.forEach((e,n)=>Number.isNaN(e)?r.push([]):r.at(-1).push(Ui(n,e,t))),r.filter(e=>e.length).map(e=>je`<polyline class="series-${n}" points=${[...e,e.at(-1)].join(` `)} fill="none" stroke="currentColor"
          stroke-width=${e.length>1?1.5:4} stroke-linecap="round" vector-effect="non-scaling-stroke" />`)}function Ui(e,t,n){return`${e},${(Ii*(1-t/n)).toFixed(2)}`}var Wi=o`
  .groups {
    list-style: none;
    display: grid;
    gap: var(--s3);
  }
  .groups p {
    overflow-wrap: anywhere;
  }
`;function Gi(e){let t=new Map;for(let n of e){let{plugin:e,reason:r,code:i}=n.reason??{},a=[n.result,e,i??r??n.message].join(`\0`),o=t.get(a)??{groups:[],podCount:0};o.groups.push(n),o.podCount+=n.podCount??0,t.set(a,o)}return[...t.values()].sort((e,t)=>t.podCount-e.podCount)}function Ki(e){let t=e.reason?.nodeCount?I(e.reason.nodeCount,`node`):``;return e.result===`DECISION_RESULT_SCHEDULED`?h`<p><span class="good">✓</span> ${e.message}${t&&` (${t} would do)`}</p>`:h`<p><span class="bad">✕</span> <strong>${ct(e.reason)||e.message}</strong>${t&&` on ${t}`} ${qi(e)}</p>
    ${t||e.advice?h`<p>→ ${Ji(e)}</p>`:_}`}function qi({reason:e}){let t=zn({code:e?.code});return t?h`<a class="mono" href=${G.code(t)}>${t}</a>`:_}function Ji({advice:e,advicePartial:t=!1,nominatedCount:n=0,examples:[r]=[],controllerKind:i,podCount:a=0}){let o=i||a===1?_:h`for <a href=${X(r)}>${A(r)}</a>: `;return e?h`${o}${e.text}${t?h` <span class="quiet">there was no time to try everything</span>`:_}`:n?`room is being made for ${I(n,`pod`)}: victims have to end`:t?h`there was no time to look for a way out: <a href=${X(r)}>ask for the fewest changes</a>`:`no set of changes was found with which it fits`}function Yi(e){let{namespace:t=``,controllerKind:n,controllerName:r,examples:i=[],podCount:a=0}=e;return h`<p>
    ${n?h`<a href=${ri(t,n,r)}>${n} ${t}/${r}</a>`:h`Pods of ${t}`}
    <span class="quiet"
      >· ${I(a,`pod`)}${e.oldestTime?`, oldest ${z(e.oldestTime)}`:``}:</span
    >
    ${i.map((e,t)=>h`${t?`, `:_}<a href=${X(e)}>${A(e)}</a>`)}${a>i.length?h` <span class="quiet">and ${F(a-i.length)} more</span>`:_}
    ${e.lastSeq?h`<span class="quiet">·</span> <a href=${D([`decisions`,e.lastSeq])}>newest decision</a>`:_}
  </p>`}var Xi=5e3,Zi=6e4,Qi=30,$i=1e3,ea={askNow:!0,advise:!0,limit:1e3},ta=10,na=3,ra=class extends b{constructor(...e){super(...e),this.all=!1,this.info=new N(this,e=>M(`ClusterService/GetClusterInfo`,{},e),{every:Xi}),this.reasons=new N(this,e=>M(`DecisionService/SummarizeReasons`,ea,e),{every:()=>this.reasons.value?.askedCount&&!this.reasons.value.unexplainedCount?Zi:Xi}),this.latest=new N(this,aa,{every:Xi})}static{this.styles=[T,Wi,o`
      .tiles {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(min(11rem, 40vw), 1fr));
        gap: var(--s3);
      }
      .tile {
        display: flex;
        flex-direction: column;
        padding: var(--s3) var(--s4);
      }
      .tile dd {
        overflow-wrap: anywhere;
      }
      .tile dt {
        color: var(--quiet);
      }
      .tile dd:nth-of-type(1) {
        font-size: 1.375rem;
        line-height: 1.4;
        font-weight: 600;
        letter-spacing: -0.01em;
      }
      .group {
        display: grid;
        grid-template-columns: 5.5rem minmax(0, 1fr) 8rem;
        gap: var(--s1) var(--s4);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
        line-height: 1.3;
      }
      svg {
        display: block;
        width: 100%;
        height: 32px;
        color: var(--bad);
      }
      @media (max-width: 40rem) {
        .group {
          grid-template-columns: 3.5rem minmax(0, 1fr);
        }
        .trend {
          grid-column: 2;
          max-width: 10rem;
        }
      }
    `]}render(){return h`<div class="stack">
      <h1>Overview</h1>
      ${this.info.show(e=>this.tiles(e))}
      <section class="stack tight" aria-labelledby="attention">
        <div class="row between">
          <h2 id="attention">Needs attention</h2>
          ${this.reasons.value?h`<mooring-copy
                .copies=${K(`mooring why-pending`,`DecisionService/SummarizeReasons`,ea)}
              ></mooring-copy>`:_}
        </div>
        ${this.reasons.show(e=>this.causes(e))}
      </section>
      <mooring-time-line></mooring-time-line>
    </div>`}tiles(e){let t=e.provenance?.configurationHash??``,n=Math.max(0,...(e.sources??[]).map(e=>Number(e.stalenessSeconds??0))),r=(e.sources??[]).flatMap(e=>e.error?[`${e.name}: ${e.error}`]:[]),i=e.pendingPodCount??0;return h`<dl class="tiles">
        ${sa(`Cluster state`,h`<span class=${e.synced?`good`:`warn`}>${e.synced?`✓ synced`:`… reading`}</span>`,[n>Qi?h`<span class="warn">⚠ ${R(n)} old</span>`:this.source(e)])}
        ${sa(`Decisions`,h`${this.rate()}`,[ia(e)])}
        ${sa(`Pending pods`,h`<span class=${i?`warn`:`good`}>${i?``:`✓ `}${F(i)}</span>`,[h`of ${I(e.podCount??0,`pod`)}`])}
        ${sa(`Nodes`,h`${F(e.nodeCount??0)}`,[h`Kubernetes ${e.kubeVersion} rules`])}
        ${sa(`Configuration`,h`<span class="mono" title=${t}>${t.slice(0,8)}</span>`,[h`<a href=${D([`profiles`])}>in force for ${z(e.configurationTime)}</a>`,h`mooring ${e.serverVersion}, up ${z(e.startTime)}`])}
      </dl>
      ${r.map(e=>h`<p class="failure" role="alert">${e}</p>`)}`}causes({groups:e=[],groupCount:t=0,askedCount:n=0,unexplainedCount:r=0}){if(!e.length&&!r)return h`<p class="card">✓ No pod waits for a node.</p>`;let i=Gi(e),a=this.all?i:i.slice(0,ta);return h`${n?h`<p class="quiet">${I(n,`pod`)} evaluated now, each by itself: no decision about them is remembered.</p>`:_}
      <ul class="groups">
        ${a.map(oa)}
      </ul>
      ${i.length>ta?h`<p>
            <button aria-expanded=${this.all} @click=${()=>this.all=!this.all}>
              ${this.all?`Show the ${ta} with the most pods`:`Show ${I(i.length-ta,`more cause`)}`}
            </button>
          </p>`:_}
      ${t>e.length?h`<p class="quiet">… and ${I(t-e.length,`more owner`)} with fewer pods</p>`:_}
      ${r?h`<p class="quiet">
            … and ${I(r,`more pod`)} without a node, not evaluated yet.
            <a href=${D([`pods`],{show:`pending`})}>Ask about one</a>
          </p>`:_}`}source(e){let t=(e.sources??[]).map(e=>e.name).join(`, `);return h`<span title=${t}>${t}</span>`}rate(){let e=this.latest.value;if(!e?.length)return e?`none yet`:`–`;let t=(Date.now()-Date.parse(e[0].time??``))/1e3,n=e.length/Math.max(1,t);return n>=.1?`${F(n)}/s`:`last ${z(e.at(-1).time)} ago`}};P([C()],ra.prototype,`all`,void 0),ra=P([x(`mooring-overview`)],ra);function ia({leads:e=!1,leader:t=``}){return e?h`${t?`✓ leads, `:_}<a href=${D([`decisions`])}>as they are made</a>`:h`<span class="warn" title=${t}>⚠ waits: ${t||`no process`} leads</span>`}async function aa(e){return(await M(`DecisionService/ListDecisions`,{limit:$i},e)).decisions??[]}function oa({groups:e,podCount:t}){let n=e.slice(0,na),r=e.slice(na);return h`<li class="card group">
    <div>
      <div class="count">${F(t)}</div>
      <div class="quiet">${t===1?`pod`:`pods`}</div>
    </div>
    <div class="stack tight">
      ${Ki(e[0])}
      <div>${n.map(Yi)}</div>
      ${r.length?h`<details><summary>${I(r.length,`more owner`)}</summary>${r.map(Yi)}</details>`:_}
    </div>
    ${ca(e)}
  </li>`}function sa(e,t,n){return h`<div class="card tile">
    <dt>${e}</dt>
    <dd>${t}</dd>
    ${n.map(e=>h`<dd class="quiet">${e}</dd>`)}
  </div>`}function ca(e){let t=e.flatMap(({trend:e=[],lastSeq:t})=>t?[e]:[]),n=(t[0]??[]).map((e,n)=>t.reduce((e,t)=>e+(t[n]??0),0));if(!n.length)return _;let r=Math.max(1,...n),i=n.map((e,t)=>`${t},${1-e/r}`).join(` `);return h`<figure class="trend">
    <svg viewBox="0 -0.05 ${Math.max(1,n.length-1)} 1.1" preserveAspectRatio="none" aria-hidden="true">
      <polyline points=${i} fill="none" stroke="currentColor" stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
    <figcaption class="quiet">${F(n[0]??0)} → ${F(n.at(-1)??0)}</figcaption>
  </figure>`}var la=1e4,ua=class extends b{constructor(...e){super(...e),this.namespace=``,this.kind=``,this.name=``,this.waiting=new N(this,e=>this.groups(e),{key:()=>`${this.namespace}/${this.kind}/${this.name}`,every:la})}static{this.styles=[T,Wi,o`
      mooring-pod-list {
        --list-height: 60vh;
      }
    `]}render(){let e={namespace:this.namespace,controllerKind:this.kind,controllerName:this.name},t=this.waiting.value??[];return h`<div class="stack">
      <div class="row between">
        <h1>${this.kind} ${this.namespace}/${this.name}</h1>
        <mooring-copy
          .copies=${K(`mooring why-pending --namespace ${j(this.namespace)}`,`ClusterService/ListPods`,e)}
        ></mooring-copy>
      </div>
      <section class="stack tight" aria-labelledby="waiting">
        <h2 id="waiting">Why some of its pods wait</h2>
        ${this.waiting.show(()=>t.length?h`<ul class="groups">${t.map(e=>h`<li class="card stack tight">${Ki(e)}</li>`)}</ul>`:_)}
        ${this.waiting.value&&!t.length?h`<p class="card">✓ None of its pods waits for a node.</p>`:_}
      </section>
      <section class="stack tight" aria-labelledby="pods">
        <h2 id="pods">Its pods</h2>
        <mooring-pod-list .request=${e} label="Pods of ${this.kind} ${this.name}" empty="No pod of it is known."></mooring-pod-list>
      </section>
    </div>`}async groups(e){let{groups:t=[]}=await M(`DecisionService/SummarizeReasons`,{namespace:this.namespace,askNow:!0,advise:!0,limit:1e3},e);return t.filter(({controllerKind:e,controllerName:t})=>e===this.kind&&t===this.name)}};P([S()],ua.prototype,`namespace`,void 0),P([S()],ua.prototype,`kind`,void 0),P([S()],ua.prototype,`name`,void 0),ua=P([x(`mooring-owner`)],ua);function da(e,t,n=``){if(JSON.stringify(e)===JSON.stringify(t))return[];let[r,i]=[fa(e),fa(t)];if(!r||!i)return[{path:n,before:ma(e),after:ma(t)}];let a=[...new Set([...r.keys(),...i.keys()])].flatMap(e=>da(r.get(e),i.get(e),e.startsWith(`[`)||!n?n+e:`${n}.${e}`));return a.length?a:[{path:`${n} (order)`,before:[...r.keys()].join(` `),after:[...i.keys()].join(` `)}]}function fa(e){return Array.isArray(e)?new Map(e.map((e,t)=>[`[${pa(e)??t}]`,e])):typeof e==`object`&&e?new Map(Object.entries(e)):void 0}function pa(e){if(typeof e!=`object`||!e)return;let{name:t,schedulerName:n}=e;return t??n}function ma(e){return e===void 0?void 0:JSON.stringify(e)}var ha=class extends b{constructor(...e){super(...e),this.query=new URLSearchParams,this.compared=new N(this,e=>ga(this.query,e),{key:()=>this.query.toString()}),this.profiles=new N(this,e=>M(`PluginService/ListProfiles`,{},e),{every:15e3}),this.plugins=new N(this,ya)}static{this.styles=[T,o`
      .scroll {
        overflow-x: auto;
      }
      table {
        border-collapse: collapse;
        font-size: 0.8125rem;
      }
      th {
        text-align: start;
        font-weight: inherit;
        white-space: nowrap;
      }
      thead th {
        color: var(--quiet);
      }
      th,
      td {
        padding: var(--s1) var(--s3);
        border-bottom: 1px solid var(--line);
      }
      td,
      thead th:nth-child(n + 2) {
        text-align: center;
        white-space: nowrap;
      }
      tbody th {
        position: sticky;
        left: 0;
        background: var(--raised);
      }
      .list td,
      .list thead th:nth-child(n + 2) {
        text-align: start;
      }
      .periods {
        padding-inline-start: var(--s4);
      }
      .weight {
        font-weight: 600;
      }
    `]}render(){return h`<div class="stack">
      <div class="row between">
        <h1>Profiles</h1>
        <mooring-copy
          .copies=${K(``,`PluginService/ListProfiles`,{})}
        ></mooring-copy>
      </div>
      ${this.profiles.show(({profiles:e=[],configurationHash:t=``,configurations:n=[]})=>h`<p class="quiet">Configuration <span class="mono">${t}</span></p>
            ${this.query.get(`from`)?this.comparison():_}
            ${n.length>1?va(n):_} ${e.map(xa)}`)}
      <section class="card stack tight" aria-labelledby="plugins">
        <h2 id="plugins">All plugins that the process knows</h2>
        ${this.plugins.show(e=>Sa(e))}
      </section>
    </div>`}comparison(){let[e,t]=[this.query.get(`from`)??``,this.query.get(`to`)??``];return h`<section class="card stack tight" aria-labelledby="compared">
      <div class="row between">
        <h2 id="compared">From <span class="mono">${e.slice(0,8)}</span> to ${t?h`<span class="mono">${t.slice(0,8)}</span>`:`now`}</h2>
        <a href=${D([`profiles`])}>Close</a>
      </div>
      ${this.compared.show(e=>e?.length?ba(e):h`<p class="good">✓ Nothing differs.</p>`)}
    </section>`}};P([S({attribute:!1})],ha.prototype,`query`,void 0),ha=P([x(`mooring-profiles`)],ha);async function ga(e,t){let[n,r]=[e.get(`from`),e.get(`to`)??``];if(!n)return;let[i,a]=await Promise.all([_a(n,t),_a(r,t)]);return da(i,a)}async function _a(e,t){let{profiles:n=[]}=await M(`PluginService/ListProfiles`,{configurationHash:e},t);return Object.fromEntries(n.map(({name:e=``,configurationJson:t=`{}`})=>[e,JSON.parse(t)]))}function va(e){return h`<section class="card stack tight" aria-labelledby="periods">
    <h2 id="periods">Since the start</h2>
    <ol class="periods">
      ${e.map(({hash:t=``,beginTime:n},r)=>{let i=e[r-1]?.hash;return h`<li>
          <span class="mono">${t.slice(0,8)}</span> ${z(n)} ago
          ${i&&i!==t?h`<a href=${D([`profiles`],{from:i,to:t})}>what it changed</a>`:_}
        </li>`})}
    </ol>
  </section>`}async function ya(e){return(await M(`PluginService/ListPlugins`,{},e)).plugins??[]}function ba(e){return h`<div class="scroll" tabindex="0" role="group" aria-label="Differences">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        ${e.map(({path:e,before:t,after:n})=>h`<tr>
              <th scope="row">${e}</th>
              <td class="mono">${t??h`<span class="quiet">absent</span>`}</td>
              <td class="mono">${n??h`<span class="quiet">absent</span>`}</td>
            </tr>`)}
      </tbody>
    </table>
  </div>`}function xa({name:e=``,extensionPoints:t=[],weightSum:n=`0`,unsupportedPlugins:r=[]}){let i=t.map(({extensionPoint:e,plugins:t=[]})=>({point:st(e??``),plugins:t})),a=[...new Set(i.flatMap(({plugins:e})=>e.map(e=>e.name??``)))];return h`<section class="card stack tight" aria-label="Profile ${e}">
    <div class="row between">
      <h2>${e}</h2>
      <p class="quiet">Numbers are the order of calls; a total is at most ${F(100*Number(n))}</p>
    </div>
    ${r.length?h`<p class="warn">⚠ Not evaluated: ${r.join(`, `)}</p>`:_}
    <div class="scroll" tabindex="0" role="group" aria-label="Plugins of ${e} by extension point">
      <table>
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            ${i.map(({point:e})=>h`<th scope="col">${e}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${a.map(e=>h`<tr>
                <th scope="row"><a href=${D([`plugins`,e])}>${e}</a></th>
                ${i.map(({plugins:t})=>{let n=t.findIndex(t=>t.name===e),r=Number(t[n]?.weight??0);return h`<td>${n<0?_:n+1}${r?h` <span class="weight">× ${r}</span>`:_}</td>`})}
              </tr>`)}
        </tbody>
      </table>
    </div>
  </section>`}function Sa(e){return h`<div class="scroll" tabindex="0" role="group" aria-label="All plugins">
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Plugin</th>
          <th scope="col">State</th>
          <th scope="col">From</th>
          <th scope="col">In profiles</th>
          <th scope="col">Extension points</th>
        </tr>
      </thead>
      <tbody>
        ${e.map(({name:e=``,state:t,source:n,profiles:r=[],extensionPoints:i=[]})=>h`<tr>
              <th scope="row"><a href=${D([`plugins`,e])}>${e}</a></th>
              <td>${Ca(t)}</td>
              <td>${n}</td>
              <td>${r.join(`, `)||h`<span class="quiet">none</span>`}</td>
              <td>${i.map(st).join(`, `)}</td>
            </tr>`)}
      </tbody>
    </table>
  </div>`}function Ca(e){let t=k(e,`PLUGIN_STATE_`);return t===`available`?h`<span class="good">✓ ${t}</span>`:h`<span class=${t===`failed`?`bad`:`warn`}>${t===`failed`?`✕`:`⚠`} ${t}</span>`}var wa=class extends b{constructor(...e){super(...e),this.name=``,this.info=new N(this,async e=>(await ya(e)).find(({name:e})=>e===this.name),{key:()=>this.name}),this.profiles=new N(this,async e=>(await M(`PluginService/ListProfiles`,{},e)).profiles??[]),this.rejections=new N(this,e=>this.listRejections(e),{key:()=>this.name})}static{this.styles=[T]}render(){return h`<div class="stack">
      <h1>${this.name}</h1>
      ${this.info.show(e=>e?Ta(e):h`<p class="failure" role="alert">The process knows no such plugin.</p>`)}
      ${this.profiles.show(e=>e.map(e=>this.configured(e)))}
      <section class="stack tight" aria-labelledby="rejections">
        <h2 id="rejections">Decisions in which it rejected something</h2>
        ${this.rejections.show(e=>Jr(`Decisions in which the plugin rejected something, the newest first`,e))}
      </section>
    </div>`}configured({name:e,extensionPoints:t=[],configurationJson:n=`{}`}){let r=t.filter(({plugins:e=[]})=>e.some(({name:e})=>e===this.name));if(!r.length)return _;let i=r.flatMap(({plugins:e=[]})=>e.filter(({name:e})=>e===this.name)).find(e=>e.weight)?.weight,{pluginConfig:a=[]}=JSON.parse(n),o=a.find(({name:e})=>e===this.name)?.args;return h`<section class="card stack tight" aria-label="In profile ${e}">
      <h2>In profile ${e}</h2>
      <dl class="facts">
        <div><dt>Extension points</dt><dd>${r.map(({extensionPoint:e})=>st(e??``)).join(`, `)}</dd></div>
        ${i?h`<div><dt>Weight</dt><dd>${i}</dd></div>`:_}
      </dl>
      ${o?h`<pre tabindex="0" aria-label="Arguments">${JSON.stringify(o,void 0,2)}</pre>`:h`<p class="quiet">No arguments.</p>`}
    </section>`}async listRejections(e){return((await M(`DecisionService/ListDecisions`,{filter:{rejectingPlugin:this.name},limit:100},e)).decisions??[]).reverse()}};P([S()],wa.prototype,`name`,void 0),wa=P([x(`mooring-plugin`)],wa);function Ta({state:e,source:t,profiles:n=[],loadError:r}){return h`<dl class="facts">
      <div><dt>State</dt><dd>${Ca(e)}</dd></div>
      <div><dt>From</dt><dd>${t}</dd></div>
      <div><dt>In profiles</dt><dd>${n.join(`, `)||`none`}</dd></div>
    </dl>
    ${r?h`<pre tabindex="0">${r}</pre>`:_}`}var Ea=class extends b{constructor(...e){super(...e),this.found=new N(this,e=>M(`SimulationService/AssignBlame`,{pod:this.pod??{}},e),{key:()=>JSON.stringify(this.pod),onRequest:!0})}static{this.styles=[T,o`
      ul {
        list-style: none;
      }
      li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
        overflow-wrap: anywhere;
      }
    `]}render(){return h`<section class="card stack tight" aria-labelledby="blame">
      <div class="row between">
        <h2 id="blame">What is to blame?</h2>
        <button ?disabled=${this.found.loading||!this.pod} @click=${()=>void this.found.run()}>Find what cost the decision</button>
      </div>
      <p class="quiet">The pods, rules, gates or configuration without which it would come out otherwise.</p>
      ${this.found.show(Da)}
    </section>`}};P([S({attribute:!1})],Ea.prototype,`pod`,void 0),Ea=P([x(`mooring-blame`)],Ea);function Da({node:e,sets:t=[],complete:n=!1}){return h`${t.length?h`<ul>
          ${t.map(t=>Oa(t,e?`the best is`:`it fits on`))}
        </ul>`:h`<p>No two inputs would change it.</p>`}
    ${n?_:h`<p class="quiet">Not all pods were tried: there are too many.</p>`}`}function Oa({inputs:e=[],nodes:t=[],nodeCount:n=0},r){let i=n>t.length?` and ${n-t.length} more`:``;return h`<li>
    Without ${e.map((e,t)=>h`${t?` and `:_}${ka(e)}`)}
    <span class="quiet">${r}</span> ${t.map((e,t)=>h`${t?`, `:_}<a href=${D([`nodes`,e])}>${e}</a>`)}${i}
  </li>`}function ka({kind:e,name:t=``,node:n=``}){let r=k(e,`BLAMED_KIND_`);return r===`pod`?h`pod <a href=${G.pod(t)}>${t}</a> on ${n}`:r===`rule`?h`the rule <a href=${D([`plugins`,t])}>${t}</a>`:r===`configuration`?h`<a href=${D([`profiles`])}>the configuration</a>`:h`the gate <span class="mono">${t}</span>`}var Z=class extends b{constructor(...e){super(...e),this.session=``,this.asked=!1,this.found=new N(this,e=>this.ask(e),{key:()=>JSON.stringify([this.pod,this.group,this.session]),onRequest:!0})}static{this.styles=[T,o`
      ol {
        list-style: none;
      }
      ol > li {
        border-top: 1px solid var(--line);
        padding: var(--s2) 0;
        overflow-wrap: anywhere;
      }
    `]}updated(e){e.has(`pod`)&&this.asked&&this.found.run()}render(){return h`<section class="card stack tight" aria-labelledby="changes">
      <div class="row between">
        <h2 id="changes">${this.group?`What would make its group fit?`:`What would make it fit?`}</h2>
        <button ?disabled=${this.found.loading||!this.pod} @click=${()=>void this.found.run()}>Find the fewest changes</button>
      </div>
      ${this.found.show(Aa)}
    </section>`}async ask(e){let{session:t,pod:n={}}=this;return await this.askGroup(e)??{response:await M(`SimulationService/SuggestChanges`,{session:t,pod:n},e)}}async askGroup(e){let{session:t,group:n}=this;if(n)try{return{group:n,response:await M(`SimulationService/SuggestChanges`,{session:t,group:n},e)}}catch(e){if(e instanceof ut&&e.reason===`GROUPS_OFF`)return;throw e}}};P([S({attribute:!1})],Z.prototype,`pod`,void 0),P([S({attribute:!1})],Z.prototype,`group`,void 0),P([S()],Z.prototype,`session`,void 0),P([S({type:Boolean})],Z.prototype,`asked`,void 0),Z=P([x(`mooring-changes`)],Z);function Aa({group:e,response:t}){return h`${e?h`<p class="quiet">Of pod group ${e.namespace}/${e.name}, with all its pods as the cluster has them:</p>`:_}${ja(t)}`}function ja(e){let{verdict:t,options:n=[],complete:r=!1}=e;if(t?.code===`VERDICT_CODE_SUCCESS`)return h`<p class="good">✓ It fits as it is.</p>`;let i=Ma(e);if(!n.length)return h`${i}<p>No set of changes was found with which it fits.</p>`;let a=r?_:h`<p class="quiet">The cluster is large: not everything was tried that might be less.</p>`;return h`${i}
    <ol>
      ${n.map(e=>h`<li>
            <p><strong>${e.text}</strong></p>
            <p class="quiet">${I(e.steps?.length??0,`change`)}, then ${Na(e)}.</p>
          </li>`)}
    </ol>
    ${a}`}function Ma({preemptionNode:e=``,candidates:t=[]}){let n=t.find(({node:t})=>t===e);if(!n)return h``;let r=(n.victims??[]).map(({reference:e})=>A(e)),i=n.violatedBudgets??[];return h`<p>
    It runs on ${e} once ${r.slice(0,3).join(`, `)}${r.length>3?` and ${r.length-3} more`:``}
    ${r.length===1?`is`:`are`} preempted.${i.length?` This violates ${i.join(`, `)}.`:_}
  </p>`}function Na({node:e,landings:t=[]}){let n=e=>h`<a href=${D([`nodes`,e])}>${e}</a>`;if(e)return h`${n(e)} takes it`;let r=new Map;for(let e of t)r.set(e.node??``,(r.get(e.node??``)??0)+1);return h`it has ${[...r].map(([e,t],r)=>h`${r?`, `:_}${I(t,`pod`)} on ${n(e)}`)}`}var Pa=`QUEUE_PLACE_`,Fa={in_flight:`being tried right now`,active:`tried when their turn comes`,backoff:`held back for a while after a failure`,unschedulable:`wait for a change that may help`,gated:`not let in by a PreEnqueue plugin`},Ia=class extends b{constructor(...e){super(...e),this.query=new URLSearchParams,this.queue=new N(this,La,{every:2e3})}static{this.styles=[T,o`
      .places {
        display: grid;
        grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
        gap: var(--s3);
      }
      .place {
        display: grid;
        text-align: start;
        white-space: normal;
        padding: var(--s3) var(--s4);
        align-content: start;
        border-radius: calc(2 * var(--radius));
      }
      .place[aria-pressed="true"] {
        background: var(--tint);
        color: inherit;
        border-color: var(--accent);
      }
      .count {
        font-size: 1.375rem;
        font-weight: 600;
      }
      mooring-grid {
        --grid-height: calc(100vh - 20rem);
      }
    `]}render(){return h`<div class="stack">
      <div class="row between">
        <h1>Queue</h1>
        <mooring-copy
          .copies=${this.queue.value===null?K(`mooring why-pending`,`ClusterService/ListPods`,{placed:!1}):K(``,`DecisionService/ListQueue`,{})}
        ></mooring-copy>
      </div>
      ${this.queue.show(e=>e?this.places(e):Ra())}
    </div>`}places({pods:e=[],counts:t=[]}){let n=this.query.get(`place`)??``,r=e=>t.find(t=>t.place===Pa+e.toUpperCase())?.podCount??0,i=n?e.filter(({place:e})=>e===Pa+n.toUpperCase()):e;return h`<div class="places" role="group" aria-label="Places">
        ${Object.entries(Fa).map(([e,t])=>h`<button class="place" aria-pressed=${n===e} @click=${()=>O({place:n===e?``:e})}>
              <span>${k(e,``)}</span><span class="count">${F(r(e))}</span><span class="quiet">${t}</span>
            </button>`)}
      </div>
      <mooring-grid
        label="Pods in the queue, in the order in which they are tried or have waited"
        .columns=${Va}
        .rows=${i}
        .keyOf=${e=>A(e.pod)}
        empty="No pod waits here."
        @mooring-open=${e=>location.hash=X(e.detail.pod)}
      ></mooring-grid>`}};P([S({attribute:!1})],Ia.prototype,`query`,void 0),Ia=P([x(`mooring-queue`)],Ia);async function La(e){return await bt(`DecisionService/ListQueue`)?M(`DecisionService/ListQueue`,{},e):null}function Ra(){return h`<p class="card">
      This process answers questions and has no queue: only a scheduler has one, such as
      <span class="mono">mooring scheduler</span>. These are the pods without a node:
    </p>
    <mooring-pod-list .request=${{placed:!1}} label="Pods without a node" empty="No pod waits for a node."></mooring-pod-list>`}function za(e){return gr([...new Set((e.wakes??[]).flatMap(({events:e=[]})=>e))])}function Ba(e){return(e.wakes??[]).map(({plugin:e,events:t=[]})=>`${e} on ${t.join(`, `)}`).join(`; `)}var Va=[{id:`pod`,title:`Pod`,width:`min(11rem, 42vw)`,cell:({pod:e})=>h`<a tabindex="-1" href=${X(e)} title=${A(e)}>${A(e)}</a>`},{id:`place`,title:`Place`,width:`8rem`,cell:({place:e})=>k(e,Pa)},{id:`waits`,title:`There for`,width:`6rem`,numeric:!0,cell:({placeTime:e})=>z(e)},{id:`age`,title:`In queue`,width:`6rem`,numeric:!0,cell:({addedTime:e})=>z(e)},{id:`priority`,title:`Priority`,width:`6rem`,numeric:!0,cell:({priority:e=0})=>F(e)},{id:`attempts`,title:`Attempts`,width:`6rem`,numeric:!0,cell:({attempts:e=0})=>F(e)},{id:`wakes`,title:`Would wake it`,width:`minmax(18rem, 1fr)`,cell:e=>h`<span title=${Ba(e)}>${za(e)||h`<span class="quiet">its turn</span>`}</span>`}],Ha=class extends b{constructor(...e){super(...e),this.namespace=``,this.name=``,this.key=()=>`${this.namespace}/${this.name}`,this.queued=new N(this,e=>this.findQueued(e),{key:this.key,every:5e3}),this.attempts=new N(this,e=>this.listAttempts(e),{key:this.key,every:5e3}),this.manifest=new N(this,e=>q(`Pod`,this.namespace,this.name,e),{key:this.key}),this.advice=new N(this,e=>fr(this.question().pod,``,e),{key:this.key}),this.now=new N(this,e=>ft(this.question(),e),{key:this.key})}static{this.styles=[T]}render(){let e=j(this.key()),t=this.question();return h`<div class="stack">
      <div class="row between">
        <h1>${this.key()}</h1>
        <mooring-copy
          .copies=${[...K(`mooring explain ${e}`,`SchedulingService/Explain`,t),{name:`kubectl`,text:`kubectl get pod ${j(this.name)} -n ${j(this.namespace)} -o yaml`}]}
        ></mooring-copy>
      </div>
      ${this.advised()} ${this.owned(this.manifest.value)} ${this.queued.value?this.place(this.queued.value):_}
      <mooring-life .namespace=${this.namespace} .name=${this.name}></mooring-life>
      <section class="stack tight" aria-labelledby="now">
        <div class="row between">
          <h2 id="now">Where it would go now</h2>
          <span class="row">
            <button @click=${()=>void this.now.run()}>Explain again</button>
            <a href=${D([`what-if`],{pod:this.key()})}>What if …</a>
          </span>
        </div>
        ${this.now.show(e=>h`<mooring-decision .columns=${e} .nodesWith=${Ct} .links=${G}></mooring-decision>`)}
      </section>
      ${this.now.value&&this.manifest.value?this.changes(this.manifest.value):_}
      <section class="stack tight" aria-labelledby="attempts">
        <h2 id="attempts">Decisions about it</h2>
        ${this.attempts.show(e=>Jr(`Decisions about this pod, the newest first`,e))}
      </section>
      <mooring-manifest .namespace=${this.namespace} .name=${this.name}></mooring-manifest>
    </div>`}owned(e){let t=e?.metadata?.ownerReferences?.find(e=>e.controller),n=e?.spec?.nodeName;return!t&&!n?_:h`<dl class="facts">
      ${t?h`<div><dt>Owner</dt><dd><a href=${ri(this.namespace,t.kind??``,t.name)}>${t.kind} ${t.name}</a></dd></div>`:_}
      ${n?h`<div><dt>Node</dt><dd><a href=${D([`nodes`,n])}>${n}</a></dd></div>`:_}
    </dl>`}advised(){let{nominatedNode:e}=this.attempts.value?.[0]??{};return this.manifest.value?.spec?.nodeName?_:e?h`<p>→ Room is being made on <a href=${D([`nodes`,e])}>${e}</a>: its victims have to end.</p>`:this.advice.value?ur(this.advice.value):_}changes(e){let{pod:t}=this.question();return nt(this.key(),h`<div class="columns">
        <mooring-changes .pod=${t} .group=${kr(e)}></mooring-changes>
        <mooring-blame .pod=${t}></mooring-blame>
      </div>`)}place(e){let t=e.readyTime?h`<div><dt>Ready</dt><dd>${new Date(e.readyTime).toLocaleTimeString(`en-GB`)}</dd></div>`:_;return h`<dl class="facts card">
      <div><dt>Waits in</dt><dd>${k(e.place,`QUEUE_PLACE_`)} for ${z(e.placeTime)}</dd></div>
      <div><dt>Priority</dt><dd>${F(e.priority??0)}</dd></div>
      <div><dt>Attempts</dt><dd>${F(e.attempts??0)}</dd></div>
      ${t}
      <div><dt>Would wake it</dt><dd title=${Ba(e)}>${za(e)||`its turn`}</dd></div>
    </dl>`}question(){return{pod:{reference:{namespace:this.namespace,name:this.name}},allRejections:!0}}async findQueued(e){if(!await bt(`DecisionService/ListQueue`))return;let{pods:t=[]}=await M(`DecisionService/ListQueue`,{namespace:this.namespace,limit:1e4},e);return t.find(({pod:e})=>e?.name===this.name)}async listAttempts(e){return((await M(`DecisionService/ListDecisions`,{filter:{namespace:this.namespace,pod:this.name},limit:100},e)).decisions??[]).reverse()}};P([S()],Ha.prototype,`namespace`,void 0),P([S()],Ha.prototype,`name`,void 0),Ha=P([x(`mooring-pod`)],Ha);var Ua={"":{title:`All`},pending:{title:`Pending`,placed:!1},placed:{title:`Placed`,placed:!0}},Wa=class extends b{constructor(...e){super(...e),this.query=new URLSearchParams}static{this.styles=[T,o`
      input {
        width: min(22rem, calc(100vw - 2 * var(--s4)));
      }
    `]}render(){let e=this.query.get(`show`)??``,t=this.request(e);return h`<div class="stack tight">
      <div class="row between">
        <h1>Pods</h1>
        <div class="row">
          <span class="segments" role="group" aria-label="Which pods">
            ${Object.entries(Ua).map(([t,{title:n}])=>h`<button aria-pressed=${e===t} @click=${()=>O({show:t})}>${n}</button>`)}
          </span>
          <input
            type="search"
            aria-label="Filter by namespace, name or labels"
            placeholder="Filter by namespace/name, or app=web"
            .value=${this.query.get(`name`)??``}
            @input=${e=>O({name:e.target.value})}
          />
          <mooring-copy .copies=${K(``,`ClusterService/ListPods`,t)}></mooring-copy>
        </div>
      </div>
      <mooring-pod-list .request=${t}></mooring-pod-list>
    </div>`}request(e){let t=(this.query.get(`name`)??``).trim(),{placed:n}=Ua[e]??{};return{...En(t)?{labelSelector:t}:t?{namePart:t}:{},...n===void 0?{}:{placed:n}}}};P([S({attribute:!1})],Wa.prototype,`query`,void 0),Wa=P([x(`mooring-pods`)],Wa);var Ga=`600s`,Ka=`kubernetes.io/hostname`,qa=class{constructor(){this.session=``,this.steps=[]}async cordon(e){let t=await q(`Node`,``,e);await this.change(`cordon ${e}`,[Ya({...t,spec:{...t.spec,unschedulable:!0}})])}async remove(e){await this.change(`remove ${e}`,[{remove:{kind:`Node`,name:e}}])}async add(e){let t=e.map(({kind:e,metadata:t})=>`${e??``} ${t?.name??``}`),n=t.length>3?` and ${t.length-3} more`:``,r=e.filter(({kind:e,spec:t})=>e===`Pod`&&!t?.nodeName).map(({metadata:e})=>({namespace:e?.namespace??`default`,name:e?.name??``}));await this.change(`add ${t.slice(0,3).join(`, `)}${n}`,e.map(Ya),r)}addedPods(){return this.steps.flatMap(({pods:e=[]})=>e)}async configure(e){let{session:t}=this,{session:n,warnings:r=[]}=await M(`SimulationService/OpenSession`,{fromSession:t,lease:Ga,configuration:e});return this.session=n?.id??``,this.steps=[...this.steps,{words:`decide by another configuration`,session:t}],r}async addLike(e,t){let n=await q(`Node`,``,e),r=Array.from({length:t},(t,r)=>Ya(Xa(n,`${e}-copy-${this.steps.length+1}-${r+1}`)));await this.change(`add ${t} like ${e}`,r)}async undo(){let e=this.steps.at(-1);e&&(e.mark?await M(`SimulationService/RevertSession`,{session:this.session,mark:e.mark}):Ja(this.session),this.session=e.session,this.steps=this.steps.slice(0,-1))}close(){let e=new Set([this.session,...this.steps.map(({session:e})=>e)]);[this.session,this.steps]=[``,[]];for(let t of e)Ja(t)}async change(e,t,n=[]){if(!this.session){let{session:e}=await M(`SimulationService/OpenSession`,{lease:Ga});this.session=e?.id??``}let{session:r}=this,{mark:i=0}=await M(`SimulationService/MarkSession`,{session:r});await M(`SimulationService/ChangeSession`,{session:r,changes:t}),this.steps=[...this.steps,{words:e,session:r,mark:i,pods:n}]}};function Ja(e){e&&M(`SimulationService/CloseSession`,{session:e}).catch(()=>void 0)}function Ya(e){return{put:{objects:[jr(e)]}}}function Xa(e,t){let n={...e.metadata?.labels,[Ka]:t};return{...e,metadata:{...e.metadata,name:t,uid:t,labels:n}}}var Za=200,Qa=100,$a=20,eo=500,to=`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
`,no=`apiVersion: v1
kind: Node
metadata:
  name: new-1
status:
  allocatable: {cpu: "8", memory: 32Gi, pods: "110"}
`,ro=`apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: default
spec:
  containers:
  - name: web
    resources:
      requests: {cpu: 500m, memory: 512Mi}
`,Q=class extends b{constructor(...e){super(...e),this.query=new URLSearchParams,this.node=``,this.text=ro,this.busy=``,this.count=1,this.configuration=to,this.objects=no,this.warnings=[],this.turn=Promise.resolve(),this.sandbox=new qa,this.nodes=new N(this,po),this.pods=new N(this,mo),this.addObjects=async()=>this.sandbox.add(await Dr(this.objects)),this.configure=async()=>{this.warnings=await this.sandbox.configure(this.configuration)},this.startOver=()=>{this.sandbox.close(),[this.answer,this.warnings]=[void 0,[]],this.requestUpdate()}}static{this.styles=[T,o`
      details > .stack {
        padding-top: var(--s2);
      }
      textarea {
        width: 100%;
        min-height: 10rem;
        font-family: var(--mono);
        font-size: 0.8125rem;
        line-height: 1.5;
        padding: var(--s3);
        resize: vertical;
      }
      .name {
        flex: 1 1 12rem;
      }
      .count {
        width: 4.5rem;
      }
      .steps {
        padding-inline-start: var(--s5);
      }
      .landings {
        list-style: none;
      }
      .landings li {
        border-top: 1px solid var(--line);
        padding: var(--s1) 0;
        overflow-wrap: anywhere;
      }
      label {
        display: contents;
      }
    `]}disconnectedCallback(){super.disconnectedCallback(),this.sandbox.close()}willUpdate(e){if(!e.has(`query`))return;let[t,n]=[this.query.get(`pod`),this.query.get(`node`)];n&&(this.node=n),t?this.attempt(`Reading the pod`,async()=>void await this.takePod(t)):n&&this.askRemoval()}render(){return h`<div class="stack">
      <div>
        <h1>What if</h1>
        <p class="quiet">Asked of a copy of the cluster: nothing real changes.</p>
      </div>
      <div class="columns">
        <section class="card stack tight" aria-labelledby="cluster">
          <h2 id="cluster">… the cluster were different</h2>
          ${this.changing()}
        </section>
        <section class="card stack tight" aria-labelledby="pod">
          <h2 id="pod">… there were such a pod</h2>
          ${this.asking()}
        </section>
      </div>
      <div role="status" class="quiet">${this.busy&&`${this.busy} …`}</div>
      ${this.error?Ot(this.error,()=>this.error=void 0,`Dismiss`):_} ${this.answer?this.shown(this.answer):_}
    </div>`}changing(){let{sandbox:e,node:t}=this,n=(this.nodes.value??[]).filter(e=>e.includes(t)).slice(0,Za),r=(e,t)=>()=>void this.attempt(e,t);return h`<div class="row">
        <input
          class="name"
          list="nodes"
          aria-label="Node"
          placeholder="Node"
          autocomplete="off"
          spellcheck="false"
          .value=${t}
          @input=${e=>this.node=e.target.value.trim()}
        />
        <datalist id="nodes">${n.map(e=>h`<option value=${e}></option>`)}</datalist>
      </div>
      <div class="row">
        <button ?disabled=${!t} @click=${()=>void this.askRemoval()}>Where would its pods go?</button>
        <button ?disabled=${!t} @click=${r(`Cordoning`,()=>e.cordon(t))}>Cordon</button>
        <button ?disabled=${!t} @click=${r(`Removing`,()=>e.remove(t))}>Remove</button>
        <span class="row">
          <button ?disabled=${!t} @click=${r(`Adding`,()=>e.addLike(t,this.count))}>Add</button>
          <input
            class="count"
            type="number"
            min="1"
            max="1000"
            aria-label="How many nodes to add"
            .valueAsNumber=${this.count}
            @input=${e=>this.count=e.target.valueAsNumber||1}
          />
          <span>like it</span>
        </span>
      </div>
      <div class="row">
        <button ?disabled=${!t} @click=${()=>void this.askGroups()}>How many for the pending pods?</button>
        <button @click=${()=>void this.askDrains()}>Which node is best to drain?</button>
      </div>
      ${this.editor(`Objects to add`,`Manifests to add, YAML or JSON`,this.objects,`Add them`,e=>this.objects=e,this.addObjects)}
      ${this.editor(`Another configuration`,`A KubeSchedulerConfiguration, YAML or JSON`,this.configuration,`Decide by it`,e=>this.configuration=e,this.configure)}
      ${this.warnings.map(e=>h`<p class="warn">⚠ ${e}</p>`)}
      <div class="row"><button @click=${()=>void this.askPending()}>Where do the pending pods go then?</button></div>
      ${e.steps.length?this.steps():h`<p class="quiet">As it is now: nothing is changed.</p>`}`}editor(e,t,n,r,i,a){return h`<details>
      <summary>${e}</summary>
      <div class="stack tight">
        <textarea
          aria-label=${t}
          spellcheck="false"
          autocomplete="off"
          .value=${n}
          @input=${e=>i(e.target.value)}
        ></textarea>
        <div class="row"><button @click=${()=>void this.attempt(`Changing the copy`,a)}>${r}</button></div>
      </div>
    </details>`}steps(){return h`<ol class="steps">
        ${this.sandbox.steps.map(({words:e})=>h`<li>${e}</li>`)}
      </ol>
      <div class="row">
        <button @click=${()=>void this.attempt(`Taking back`,()=>this.sandbox.undo())}>Take the last back</button>
        <button @click=${this.startOver}>Start over</button>
      </div>`}asking(){return h`<label
        ><span class="hidden">A pending pod</span
        ><select @change=${e=>void this.attempt(`Reading the pod`,()=>this.takePod(e.target.value))}>
          <option value="">Take a pending pod, or paste a manifest below</option>
          ${(this.pods.value??[]).map(e=>h`<option value=${e}>${e}</option>`)}
        </select></label
      >
      <textarea
        aria-label="Manifest of a pod or workload, YAML or JSON"
        spellcheck="false"
        autocomplete="off"
        .value=${this.text}
        @input=${e=>this.text=e.target.value}
      ></textarea>
      <div class="row">
        <button class="primary" @click=${()=>void this.askPlace()}>Where would it go?</button>
        <button @click=${()=>void this.askCapacity()}>How many would fit?</button>
        <button @click=${()=>void this.askChanges()}>What would make it fit?</button>
      </div>`}shown(e){return e.kind===`explanation`?h`<mooring-decision .columns=${e.columns} .advice=${e.advice} .links=${G}></mooring-decision>`:e.kind===`changes`?h`<mooring-changes .pod=${e.pod} .group=${e.group} .session=${this.sandbox.session} asked></mooring-changes>`:e.kind===`capacity`?so(e.found):e.kind===`drains`?fo(e.found):e.kind===`groups`?io(e.found,e.like):e.kind===`pending`?ao(e.rows):h`<div class="stack">${(e.found.nodes??[]).map(lo)} ${co(e.found)}</div>`}async takePod(e){let[t=``,n=``]=e.split(`/`);n&&(this.text=await Ar(await q(`Pod`,t,n)))}askPlace(){return this.attempt(`Placing`,async()=>{let{session:e}=this.sandbox,t=await this.pod(),[n,r]=await Promise.all([ft({pod:t,allRejections:!0,session:e}),fr(t,e)]);this.answer={kind:`explanation`,columns:n,advice:r}})}askCapacity(){return this.attempt(`Counting`,async()=>{let e=[await this.pod()];this.answer={kind:`capacity`,found:await M(`SimulationService/EstimateCapacity`,{session:this.sandbox.session,shapes:e,includeNodes:!0})}})}askChanges(){return this.attempt(`Reading the pod`,async()=>{let e=await Er(this.text);this.answer={kind:`changes`,pod:{object:jr(e)},group:kr(e)}})}askRemoval(){return this.attempt(`Placing its pods`,async()=>{let e=await M(`SimulationService/PlanRemoval`,{session:this.sandbox.session,nodes:[this.node]});this.answer={kind:`removal`,found:e}})}askDrains(){return this.attempt(`Trying each node`,async()=>{let[e,t]=[this.nodes.value??[],[]],{session:n}=this.sandbox;for(let r=0;r<e.length;r+=Qa){let i=e.slice(r,r+Qa);t.push(...(await M(`SimulationService/PlanRemoval`,{session:n,nodes:i})).nodes??[])}this.answer={kind:`drains`,found:t.sort(uo)}})}askGroups(){return this.attempt(`Trying more nodes`,async()=>{let e=jr(await q(`Node`,``,this.node)),t={session:this.sandbox.session,groups:[{name:`${this.node}-more`,node:e}]};this.answer={kind:`groups`,found:await M(`SimulationService/PlanNodeGroups`,t),like:this.node}})}askPending(){return this.attempt(`Placing the pending pods`,async()=>{let{pods:e=[]}=await M(`ClusterService/ListPendingPods`,{pageSize:eo}),t=[...e.map(({pod:e})=>e),...this.sandbox.addedPods()],n=t.map(e=>({pod:{reference:e}}));if(!n.length)return void(this.answer={kind:`pending`,rows:[]});let{nodes:r,verdicts:i=[],podVerdicts:a=[]}=await M(`SchedulingService/Schedule`,{session:this.sandbox.session,templates:n}),o=r?.names?.names??[],s=t.map((e,t)=>({pod:e,node:o[t]??``,verdict:i[a[t]??0]}));this.answer={kind:`pending`,rows:s}})}async pod(){return{object:jr(await Er(this.text))}}attempt(e,t){return this.turn=this.turn.then(async()=>{[this.busy,this.error]=[e,void 0];try{await t()}catch(e){this.error=e}this.busy=``})}};P([S({attribute:!1})],Q.prototype,`query`,void 0),P([C()],Q.prototype,`node`,void 0),P([C()],Q.prototype,`text`,void 0),P([C()],Q.prototype,`busy`,void 0),P([C()],Q.prototype,`answer`,void 0),P([C()],Q.prototype,`error`,void 0),P([C()],Q.prototype,`count`,void 0),P([C()],Q.prototype,`configuration`,void 0),P([C()],Q.prototype,`objects`,void 0),P([C()],Q.prototype,`warnings`,void 0),Q=P([x(`mooring-what-if`)],Q);function io({options:e=[]},t){let[n]=e,{nodeCount:r=0,leftOver:i=[],daemonPodCount:a=0}=n??{},o=a?h` Each new node gets ${I(a,`pod`)} of DaemonSets first.`:_;return h`<section class="card stack tight" aria-labelledby="groups">
    <h2 id="groups">${r?`${I(r,`more node`)} like ${t}`:`More nodes like ${t} don't help`}</h2>
    <p>
      ${i.length?h`${I(i.length,`pending pod`)} would get no node even with more of them.`:r?`All pending pods get a node then.`:`Each pending pod has a node already.`}${o}
    </p>
    <ul class="landings">
      ${i.slice(0,Za).map(({pod:e,verdict:t})=>h`<li><a href=${X(e)}>${A(e)}</a> <span class="bad">✕ ${oo(t)}</span></li>`)}
    </ul>
  </section>`}function ao(e){let t=e.filter(({node:e})=>e).length;return h`<section class="card stack tight" aria-labelledby="placed">
    <h2 id="placed">${e.length?`${F(t)} of ${I(e.length,`pending pod`)} get a node`:`No pod waits for a node`}</h2>
    <ul class="landings">
      ${e.map(({pod:e,node:t,verdict:n})=>h`<li>
            <a href=${X(e)}>${A(e)}</a>
            ${t?h`→ <a href=${D([`nodes`,t])}>${t}</a>`:h`<span class="bad">✕ ${oo(n)}</span>`}
          </li>`)}
    </ul>
  </section>`}function oo(e){return e?.message||(e?.reasons??[]).join(`, `)}function so(e){let[t]=e.shapes??[];if(!t)return h``;let{count:n=0,limited:r=!1,end:i,nodes:a=[]}=t,o=[...a].sort((e,t)=>(t.count??0)-(e.count??0)).slice(0,20);return h`<section class="card stack tight" aria-labelledby="room">
    <h2 id="room">${r?`At least `:``}${I(n,`more pod`)} would fit</h2>
    ${i?.message?h`<p>Then: ${i.message}</p>`:_}
    ${o.length?h`<p class="quiet">Most on ${o.map(e=>`${e.node} (${F(e.count??0)})`).join(`, `)}</p>`:_} ${co(e)}
  </section>`}function co({placedCount:e=0,unplaced:t=[],preempted:n=[]}){if(!e&&!t.length)return h``;let r=n.length?` They preempt ${n.slice(0,3).map(A).join(`, `)}${n.length>3?`, …`:``}.`:``;return h`<p class="quiet">Pending pods come first: ${e} placed, ${t.length} still pending.${r}</p>`}function lo({node:e,removable:t,landings:n=[],endingPodCount:r=0,alone:i=[],exhaustedBudgets:a=[],localData:o=[]}){let s=n.filter(({waits:e})=>e).length;return h`<section class="card stack tight" aria-label="If ${e} goes">
    <h2>If ${e} goes</h2>
    <p>
      ${t?h`<span class="good">✓ It can go:</span> ${n.length?`each of its pods finds another node.`:`no pod has to move.`}`:s?h`<span class="bad">✕ ${I(s,`pod`)} would wait</span> until the Node object is deleted.`:h`<span class="bad">✕ It can't go:</span> not every pod finds another node.`}
      ${r?h`<span class="quiet">${I(r,`pod`)} of DaemonSets would end with it.</span>`:_}
    </p>
    ${a.map(e=>h`<p class="bad">PodDisruptionBudget ${e} allows no disruption now.</p>`)}
    ${i.length?h`<p class="quiet">Single replicas: ${i.map(A).join(`, `)}</p>`:_}
    ${o.length?h`<p class="bad">
          Data in emptyDir volumes is lost: ${o.map(A).join(`, `)}. <code>kubectl drain</code> needs <code>--delete-emptydir-data</code>.
        </p>`:_}
    <ul class="landings">
      ${n.map(({pod:e,node:t,verdict:n,waits:r})=>h`<li>
            <a href=${X(e)}>${A(e)}</a>
            ${t?h`→ <a href=${D([`nodes`,t])}>${t}</a>${r?`, once the Node object is deleted`:_}`:h`<span class="bad">✕ ${oo(n)}</span>`}
          </li>`)}
    </ul>
  </section>`}function uo(e,t){let n=({removable:e=!1,landings:t=[],alone:n=[],localData:r=[]})=>[+!e,t.length,n.length,r.length],[r,i]=[n(e),n(t)],a=r.findIndex((e,t)=>e!==i[t]);return a<0?(e.node??``).localeCompare(t.node??``):r[a]-i[a]}function fo(e){let t=e.filter(({removable:e})=>e).length;return h`<section class="card stack tight" aria-labelledby="drains">
    <h2 id="drains">${F(t)} of ${I(e.length,`node`)} could be drained, each alone</h2>
    <ol class="landings">
      ${e.slice(0,$a).map(({node:e=``,removable:t,landings:n=[],alone:r=[],exhaustedBudgets:i=[],localData:a=[]})=>h`<li>
            <a href=${D([`what-if`],{node:e})}>${e}</a> ${t?h`<span class="good">✓ can go</span>`:h`<span class="bad">✕ stays</span>`}
            <span class="quiet"
              >${[t?`${I(n.length,`pod`)} would move`:oo(n.find(({node:e})=>!e)?.verdict),r.length?I(r.length,`single replica`):``,a.length?`${I(a.length,`pod`)} would lose emptyDir data`:``,i.length?`${i.join(`, `)} allows no disruption`:``].filter(Boolean).join(` · `)}</span
            >
          </li>`)}
    </ol>
  </section>`}async function po(e){return(await M(`ClusterService/ListNodes`,{},e)).nodes?.names?.names??[]}async function mo(e){return((await M(`ClusterService/ListPendingPods`,{},e)).pods??[]).map(({pod:e})=>A(e)).slice(0,Za)}var ho=[[`/`,`search pods, nodes, owners, plugins and views`],[`?`,`this help`],[`Tab`,`go to the next link, button or table`],[`↑ ↓ Page Home End`,`move in a table`],[`Enter`,`open the row of a table`],[`Space`,`in the table of one decision, pin a node; two pinned nodes are compared`],[`Esc`,`close this`]],go=[[`Feasible`,`No plugin rejects the node for the pod.`],[`Margin`,`How many points the selected node is ahead of the next one; tied nodes are chosen from by a seed.`],[`Rejected by`,`The first plugin that rejects a node, in the order of the profile.`],[`Pending`,`The pod has no node yet.`],[`In flight`,`The scheduler is trying the pod right now.`],[`Backoff`,`The pod failed before, and waits some seconds before it is tried again.`],[`Gated`,`A PreEnqueue plugin does not let the pod into the queue yet.`],[`Bars`,`What a node's pods request of what the node offers; not what they use.`]],_o=class extends b{static{this.styles=[T,o`
      dialog {
        width: min(42rem, calc(100vw - 2rem));
        max-height: 85vh;
        padding: var(--s5);
        color: inherit;
        background: var(--raised);
        border: 1px solid var(--edge);
        border-radius: calc(2 * var(--radius));
      }
      dialog::backdrop {
        background: rgb(0 0 0 / 35%);
      }
      dl {
        display: grid;
        grid-template-columns: minmax(6rem, max-content) 1fr;
        gap: var(--s1) var(--s4);
      }
      dt {
        font-weight: 600;
      }
    `]}open(){this.dialog.open||this.dialog.showModal()}render(){return h`<dialog aria-labelledby="title" @click=${e=>e.target===this.dialog&&this.dialog.close()}>
      <div class="stack">
        <div class="row between">
          <h2 id="title">Help</h2>
          <button @click=${()=>this.dialog.close()}>Close</button>
        </div>
        <section class="stack tight" aria-labelledby="keys">
          <h3 id="keys">Keys</h3>
          <dl>${ho.map(([e,t])=>h`<dt><kbd>${e}</kbd></dt><dd>${t}</dd>`)}</dl>
        </section>
        <section class="stack tight" aria-labelledby="filters">
          <h3 id="filters">Filters</h3>
          <dl>
            <dt class="mono">app=web,!gpu</dt>
            <dd>labels, as kubectl takes them</dd>
            <dt class="mono">cpu&gt;2 memory&gt;4Gi</dt>
            <dd>nodes with so much room, in the list of nodes</dd>
            <dt>other words</dt>
            <dd>a part of a name, zone, taint or reason</dd>
          </dl>
        </section>
        <section class="stack tight" aria-labelledby="words">
          <h3 id="words">Words</h3>
          <dl>${go.map(([e,t])=>h`<dt>${e}</dt><dd>${t}</dd>`)}</dl>
        </section>
      </div>
    </dialog>`}};P([w(`dialog`)],_o.prototype,`dialog`,void 0),_o=P([x(`mooring-help`)],_o);var vo=8,yo=120,$=class extends b{constructor(...e){super(...e),this.hits=[],this.active=0,this.text=``,this.problem=``,this.views=[],this.abort=new AbortController,this.onBackdrop=e=>{e.target===this.dialog&&this.dialog.close()},this.onInput=e=>{this.text=e.target.value.trim(),this.find()},this.onKey=e=>{let t={ArrowDown:1,ArrowUp:-1}[e.key],n=this.hits[this.active];if(t&&this.hits.length)this.active=(this.active+t+this.hits.length)%this.hits.length;else if(e.key===`Enter`&&n)this.go(n);else return;e.preventDefault(),this.updateComplete.then(()=>this.renderRoot.querySelector(`[aria-selected=true]`)?.scrollIntoView({block:`nearest`}))}}static{this.styles=[T,o`
      dialog {
        width: min(40rem, calc(100vw - 2rem));
        margin-top: 12vh;
        padding: 0;
        color: inherit;
        background: var(--raised);
        border: 1px solid var(--edge);
        border-radius: calc(2 * var(--radius));
      }
      dialog::backdrop {
        background: rgb(0 0 0 / 35%);
      }
      input {
        width: 100%;
        border: 0;
        border-bottom: 1px solid var(--line);
        border-radius: 0;
        padding: var(--s3) var(--s4);
        font-size: 1rem;
      }
      input:focus-visible {
        outline-offset: -2px;
      }
      ul {
        list-style: none;
        max-height: 60vh;
        overflow-y: auto;
      }
      li {
        display: grid;
        grid-template-columns: 4.5rem 1fr;
        padding: var(--s2) var(--s4);
        cursor: pointer;
        overflow-wrap: anywhere;
      }
      li[aria-selected="true"] {
        background: var(--tint);
        box-shadow: inset 3px 0 var(--accent);
      }
      p {
        padding: var(--s3) var(--s4);
      }
    `]}open(e){this.views=e.map(({title:e,href:t})=>({kind:`View`,name:e,href:t})),this.known=void 0,this.text=``,this.find(),this.dialog.open||this.dialog.showModal()}render(){let e=this.problem||(this.text&&!this.hits.length?`Nothing has such a name.`:``);return h`<dialog aria-label="Search" @click=${this.onBackdrop}>
      <input
        role="combobox"
        aria-label="Search pods, nodes, owners, plugins and views"
        aria-expanded="true"
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant=${this.hits.length?`hit-${this.active}`:_}
        placeholder="A part of the name of a pod, node, owner, plugin or view"
        autocomplete="off"
        spellcheck="false"
        .value=${this.text}
        @input=${this.onInput}
        @keydown=${this.onKey}
      />
      <ul id="hits" role="listbox" aria-label="Found">
        ${this.hits.map((e,t)=>h`<li role="option" id="hit-${t}" aria-selected=${t===this.active} @click=${()=>this.go(e)}>
              <span class="quiet">${e.kind}</span><span>${e.name}</span>
            </li>`)}
      </ul>
      <p class="quiet" role="status" ?hidden=${!e}>${e}</p>
    </dialog>`}go({href:e}){this.dialog.close(),location.hash=e}async find(){this.abort.abort();let{signal:e}=this.abort=new AbortController,{text:t}=this;if(this.take(bo(this.views,t)),t&&(await new Promise(e=>setTimeout(e,yo)),!e.aborted))try{let[n,r]=await Promise.all([this.known??=xo(),So(t,e)]);e.aborted||this.take([...bo(this.views,t),...bo(n,t),...r])}catch(t){if(e.aborted)return;this.known=void 0,this.problem=t.message}}take(e){[this.hits,this.active,this.problem]=[e,0,``]}};P([C()],$.prototype,`hits`,void 0),P([C()],$.prototype,`active`,void 0),P([C()],$.prototype,`text`,void 0),P([C()],$.prototype,`problem`,void 0),P([w(`dialog`)],$.prototype,`dialog`,void 0),$=P([x(`mooring-search`)],$);function bo(e,t){let n=t.toLowerCase(),r=({name:e})=>e.toLowerCase().indexOf(n);return e.filter(e=>r(e)>=0).sort((e,t)=>Number(r(e)>0)-Number(r(t)>0)).slice(0,vo)}async function xo(){let[e,t]=await Promise.all([M(`ClusterService/ListNodes`,{}),M(`PluginService/ListPlugins`,{})]);return[...(e.nodes?.names?.names??[]).map(e=>({kind:`Node`,name:e,href:D([`nodes`,e])})),...(t.plugins??[]).map(({name:e=``})=>({kind:`Plugin`,name:e,href:D([`plugins`,e])}))]}async function So(e,t){let{pods:n=[]}=await M(`ClusterService/ListPods`,{namePart:e,pageSize:vo},t),r=new Map;for(let{pod:e,controllerKind:t,controllerName:i=``}of n){if(!t)continue;let n=`${t} ${e?.namespace??``}/${i}`;r.set(n,{kind:`Owner`,name:n,href:D([`owners`,e?.namespace??``,t,i])})}let i=n.map(({pod:e})=>({kind:`Pod`,name:A(e),href:D([`pods`,e?.namespace??``,e?.name??``])}));return[...r.values(),...i]}var Co=[`system`,`light`,`dark`],wo=`mooring-theme`;function To(){try{return Co.find(e=>e===localStorage.getItem(wo))??`system`}catch{return`system`}}function Eo(e){try{localStorage.setItem(wo,e)}catch{}document.documentElement.style.colorScheme=e===`system`?``:e,dispatchEvent(new Event(`mooring-theme`))}var Do={"":{title:`Overview`,render:()=>h`<mooring-overview></mooring-overview>`},decisions:{title:`Decisions`,render:ko},pods:{title:`Pods`,render:Ao},nodes:{title:`Nodes`,render:Mo},queue:{title:`Queue`,render:({query:e})=>h`<mooring-queue .query=${e}></mooring-queue>`},profiles:{title:`Profiles`,render:({query:e})=>h`<mooring-profiles .query=${e}></mooring-profiles>`},"what-if":{title:`What if`,render:({query:e})=>h`<mooring-what-if .query=${e}></mooring-what-if>`},owners:{title:``,render:jo},codes:{title:``,render:({path:[,e=``]})=>h`<mooring-code .name=${e}></mooring-code>`},plugins:{title:``,render:({path:[,e=``]})=>h`<mooring-plugin .name=${e}></mooring-plugin>`}},Oo=class extends b{constructor(...e){super(...e),this.route=E(location.hash),this.theme=To(),this.processes=new N(this,pt,{every:15e3}),this.openSearch=()=>{let e=Object.entries(Do).filter(([,{title:e}])=>e);this.search.open(e.map(([e,{title:t}])=>({title:t,href:D(e?[e]:[])})))},this.onKey=e=>{let[t]=e.composedPath();if(!(t instanceof HTMLElement&&t.matches(`input, textarea, select`)||e.ctrlKey||e.metaKey||e.altKey)){if(e.key===`/`)this.openSearch();else if(e.key===`?`)this.help.open();else return;e.preventDefault()}},this.onHash=()=>{this.route=E(location.hash)}}static{this.styles=[rt,T,o`
      :host {
        min-height: 100vh;
      }
      header {
        background: var(--raised);
        border-bottom: 1px solid var(--line);
        display: flex;
        flex-wrap: wrap;
        align-items: center;
        gap: 0 var(--s5);
        padding: 0 var(--s5);
      }
      .brand {
        font-weight: 650;
        font-size: 1rem;
        letter-spacing: -0.01em;
        color: inherit;
        text-decoration: none;
        padding: var(--s3) 0;
      }
      nav {
        flex: 1 1 auto;
        min-width: 0;
        overflow-x: auto;
        scrollbar-width: none;
      }
      nav ul {
        display: flex;
        list-style: none;
        gap: var(--s1);
      }
      nav a {
        display: block;
        white-space: nowrap;
        padding: var(--s3) var(--s2);
        color: var(--quiet);
        text-decoration: none;
        border-bottom: 2px solid transparent;
      }
      nav a:hover {
        color: var(--text);
      }
      nav a[aria-current] {
        color: var(--text);
        border-color: var(--accent);
      }
      nav a:focus-visible {
        outline-offset: -2px;
      }
      main {
        max-width: 110rem;
        margin: 0 auto;
        padding: var(--s5);
      }
      main:focus {
        outline: none;
      }
      .skip:not(:focus) {
        position: absolute;
        clip-path: inset(50%);
      }
      @media (max-width: 40rem) {
        header {
          padding: 0 var(--s4);
        }
        nav {
          order: 3;
          flex-basis: 100%;
        }
        .process {
          flex: 1;
          justify-content: end;
          padding-block: var(--s2);
        }
        kbd {
          display: none;
        }
        main {
          padding: var(--s4);
        }
      }
    `]}connectedCallback(){super.connectedCallback(),addEventListener(`hashchange`,this.onHash),addEventListener(`keydown`,this.onKey),Eo(this.theme)}disconnectedCallback(){super.disconnectedCallback(),removeEventListener(`hashchange`,this.onHash),removeEventListener(`keydown`,this.onKey)}updated(e){if(!e.has(`route`))return;let t=this.renderRoot.querySelector(`nav`),n=t?.querySelector(`[aria-current]`);t&&n&&(t.scrollLeft=n.offsetLeft-t.offsetLeft-(t.clientWidth-n.offsetWidth)/2)}render(){let[e=``]=this.route.path,t=Do[e];return document.title=[...this.route.path.slice().reverse(),`mooring`].join(` · `),h`<button class="skip" @click=${()=>this.renderRoot.querySelector(`main`)?.focus()}>Skip to the content</button>
      <header>
        <a class="brand" href=${D([])}>mooring</a>
        <nav aria-label="Views">
          <ul>
            ${Object.entries(Do).filter(([,{title:e}])=>e).map(([t,{title:n}])=>h`<li><a href=${D(t?[t]:[])} aria-current=${t===e?`page`:_}>${n}</a></li>`)}
          </ul>
        </nav>
        <div class="process row">${this.tools()} ${this.picker()}</div>
      </header>
      <main tabindex="-1">
        ${t?nt(this.route.query.get(`process`),t.render(this.route)):h`<h1>There is no such view</h1><p><a href=${D([])}>To the overview</a></p>`}
      </main>
      <mooring-search></mooring-search>
      <mooring-help></mooring-help>`}picker(){let{value:e=[],error:t}=this.processes;if(t)return h`<span class="bad" role="alert">✕ mooring web does not answer</span>`;let n=e.find(e=>e.name===this.route.query.get(`process`))??e[0];if(!n)return _;let r=n.state===`ok`?_:h`<span class="bad" role="alert" title=${n.message??``}>✕ unreachable</span>`;return e.length===1?h`${r} <span class="quiet" title=${n.address}>${n.name}</span>`:h`${r}
      <select aria-label="Process" @change=${e=>O({process:e.target.value})}>
        ${e.map(e=>h`<option value=${e.name} ?selected=${e===n}>${e.name}</option>`)}
      </select>`}tools(){return h`<button aria-keyshortcuts="/" title="Search (/)" @click=${this.openSearch}>Search <kbd aria-hidden="true">/</kbd></button>
      <button aria-keyshortcuts="?" aria-label="Help" title="Help (?)" @click=${()=>this.help.open()}>?</button>
      <select aria-label="Theme" title="Theme" @change=${e=>this.choose(e.target.value)}>
        ${Co.map(e=>h`<option value=${e} ?selected=${e===this.theme}>${e}</option>`)}
      </select>`}choose(e){this.theme=e,Eo(e)}};P([C()],Oo.prototype,`route`,void 0),P([C()],Oo.prototype,`theme`,void 0),P([w(`mooring-search`)],Oo.prototype,`search`,void 0),P([w(`mooring-help`)],Oo.prototype,`help`,void 0),Oo=P([x(`mooring-page`)],Oo);function ko({path:[,e],query:t}){return e?h`<mooring-decision-view .seq=${e}></mooring-decision-view>`:h`<mooring-decisions .query=${t}></mooring-decisions>`}function Ao({path:[,e,t],query:n}){return e&&t?h`<mooring-pod .namespace=${e} .name=${t}></mooring-pod>`:h`<mooring-pods .query=${n}></mooring-pods>`}function jo({path:[,e=``,t=``,n=``]}){return h`<mooring-owner .namespace=${e} .kind=${t} .name=${n}></mooring-owner>`}function Mo({path:[,e],query:t}){return e?h`<mooring-node .name=${e}></mooring-node>`:h`<mooring-nodes .query=${t}></mooring-nodes>`}